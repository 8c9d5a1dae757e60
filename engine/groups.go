package engine

// commandGroups lists the rows of every file. A command needs no line here, a
// new file of commands needs one.
func commandGroups() [][]Spec { return append(dataGroups(), serverGroups()...) }

// dataGroups are the rows about data, messages and scripts.
func dataGroups() [][]Spec {
	return [][]Spec{
		multiCommands,
		pubsubCommands,
		scriptCommands,
		functionCommands,
		stringCommands,
		stringRangeCommands,
		stringNumberCommands,
		lcsCommands,
		bitmapCommands,
		bitfieldCommands,
		hashCommands,
		hashReadCommands,
		hashTTLCommands,
		hashTTLValueCommands,
		keyCommands,
		expireCommands,
		dumpCommands,
		migrateCommands,
		scanCommands,
		objectCommands,
		memoryCommands,
		databaseCommands,
		lolwutCommands,
		listCommands,
		listEditCommands,
		listMoveCommands,
		sortCommands,
		waitCommands,
		setCommands,
		setRandomCommands,
		setCombineCommands,
		zsetCommands,
		zsetRangeCommands,
		zsetBoundsCommands,
		zsetPopCommands,
		zsetReadCommands,
		zsetBlockCommands,
		listBlockCommands,
		blockedCommands,
		zsetCombineCommands,
		hllCommands,
		geoCommands,
		geoSearchCommands,
		streamCommands,
		streamRangeCommands,
		streamReadCommands,
		streamGroupCommands,
		streamPendingCommands,
		streamClaimCommands,
		streamInfoCommands,
	}
}

// serverGroups are the rows that are not about data.
func serverGroups() [][]Spec {
	return [][]Spec{
		connCommands,
		clusterCommands,
		clusterSlotCommands,
		clientCommands,
		trackingCommands,
		commandCommands,
		configCommands,
		infoCommands,
		saveCommands,
		shutdownCommands,
		replicationCommands,
		slowlogCommands,
		latencyCommands,
		debugCommands,
		aclCommands,
		moduleCommands,
		monitorCommands,
		pauseCommands,
	}
}
