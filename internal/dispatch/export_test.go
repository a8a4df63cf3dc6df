package dispatch

// Known says whether features has an entry, present or not.
func Known(feature string) bool { return features[feature] != nil }
