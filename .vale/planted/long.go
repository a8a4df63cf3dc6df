package planted

// This sentence goes on for far more words than a reader can hold at once, because its writer never stopped to think about
// where one idea ends and another one begins.
var sentence int
