package engine

// commandGroups lists the rows of every file. A command needs no line here, a
// new file of commands needs one.
func commandGroups() [][]Spec {
	return [][]Spec{
		multiCommands,
		scriptCommands,
		stringCommands,
		stringRangeCommands,
		stringNumberCommands,
		lcsCommands,
		bitmapCommands,
		hashCommands,
		hashReadCommands,
		hashTTLCommands,
		hashTTLValueCommands,
		keyCommands,
		expireCommands,
		scanCommands,
		objectCommands,
		databaseCommands,
		lolwutCommands,
		zsetCommands,
		zsetRangeCommands,
		zsetBoundsCommands,
		zsetPopCommands,
		zsetReadCommands,
		zsetCombineCommands,
		connCommands,
		clientCommands,
		commandCommands,
		configCommands,
		infoCommands,
		debugCommands,
	}
}
