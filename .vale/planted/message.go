package planted

const message = "nobody reads this message"

const help = `This help text goes on for far more words than a reader can hold at once because its writer never stopped to think about where
one idea ends and another one begins.`

const flag = "this flag text goes on for far more words than a reader can hold at once because its writer never stopped to think about where one idea ends and another one begins"
