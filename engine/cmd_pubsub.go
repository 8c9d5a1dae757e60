package engine

import "github.com/echomq/echomq-sim/resp"

var pubsubCommands = []Spec{
	{Name: "psubscribe", Arity: -2, Flags: PubSub | NoScript | Loading | Stale, run: psubscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of patterns to subscribe to.",
		Summary: "Listens for messages published to channels that match one or more patterns.",
		Args:    `pattern:p*`},
	{Name: "publish", Arity: 3, Flags: PubSub | Loading | Stale | Fast | MayReplicate, run: publish,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).",
		Summary: "Posts a message to a channel.",
		Args:    `channel message`},
	{Name: "pubsub", Arity: -2,
		Group: "pubsub", Since: "2.8.0", Complexity: "Depends on subcommand.",
		Summary: "A container for Pub/Sub commands."},
	{Name: "pubsub|channels", Arity: -2, Flags: PubSub | Loading | Stale, run: pubsubChannels,
		Group: "pubsub", Since: "2.8.0", Complexity: "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)",
		Summary: "Returns the active channels.",
		Args:    `pattern:p?`},
	{Name: "pubsub|help", Arity: 2, Flags: Loading | Stale, run: pubsubHelp,
		Group: "pubsub", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "pubsub|numpat", Arity: 2, Flags: PubSub | Loading | Stale, run: pubsubNumpat,
		Group: "pubsub", Since: "2.8.0", Complexity: "O(1)",
		Summary: "Returns a count of unique pattern subscriptions."},
	{Name: "pubsub|numsub", Arity: -2, Flags: PubSub | Loading | Stale, run: pubsubNumsub,
		Group: "pubsub", Since: "2.8.0", Complexity: "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
		Summary: "Returns a count of subscribers to channels.",
		Args:    `channel?*`},
	{Name: "pubsub|shardchannels", Arity: -2, Flags: PubSub | Loading | Stale, run: pubsubShardchannels,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short shard channels).",
		Summary: "Returns the active shard channels.",
		Args:    `pattern:p?`},
	{Name: "pubsub|shardnumsub", Arity: -2, Flags: PubSub | Loading | Stale, run: pubsubShardnumsub,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
		Summary: "Returns the count of subscribers of shard channels.",
		Args:    `shardchannel?*`},
	{Name: "punsubscribe", Arity: -1, Flags: PubSub | NoScript | Loading | Stale, run: punsubscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of patterns to unsubscribe.",
		Summary: "Stops listening to messages published to channels that match one or more patterns.",
		Args:    `pattern:p?*`},
	{Name: "spublish", Arity: 3, Flags: PubSub | Loading | Stale | Fast | MayReplicate,
		Keys: keys(key1(NotKey)), run: spublish,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
		Summary: "Post a message to a shard channel",
		Args:    `shardchannel message`},
	{Name: "ssubscribe", Arity: -2, Flags: PubSub | NoScript | Loading | Stale,
		Keys: keys(keyRange(1, -1, 1, 0, NotKey)), run: ssubscribe,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of shard channels to subscribe to.",
		Summary: "Listens for messages published to shard channels.",
		Args:    `shardchannel*`},
	{Name: "subscribe", Arity: -2, Flags: PubSub | NoScript | Loading | Stale, run: subscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of channels to subscribe to.",
		Summary: "Listens for messages published to channels.",
		Args:    `channel*`},
	{Name: "sunsubscribe", Arity: -1, Flags: PubSub | NoScript | Loading | Stale,
		Keys: keys(keyRange(1, -1, 1, 0, NotKey)), run: sunsubscribe,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N) where N is the number of shard channels to unsubscribe.",
		Summary: "Stops listening to messages posted to shard channels.",
		Args:    `shardchannel?*`},
	{Name: "unsubscribe", Arity: -1, Flags: PubSub | NoScript | Loading | Stale, run: unsubscribe,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N) where N is the number of channels to unsubscribe.",
		Summary: "Stops listening to messages posted to channels.",
		Args:    `channel?*`},
}

// subscribe: SUBSCRIBE channel [channel ...]
func subscribe(c *Call) resp.Value { return c.subscribeTo(subChannel) }

// psubscribe: PSUBSCRIBE pattern [pattern ...]
func psubscribe(c *Call) resp.Value { return c.subscribeTo(subPattern) }

// ssubscribe: SSUBSCRIBE shardchannel [shardchannel ...]
func ssubscribe(c *Call) resp.Value { return c.subscribeTo(subShard) }

func (c *Call) subscribeTo(kind subKind) resp.Value {
	var confirmed []resp.Value
	for _, channel := range c.Args[1:] {
		confirmed = append(confirmed, c.Sess.subscribe(kind, channel))
	}
	return resp.Pushes(confirmed...)
}

// unsubscribe: UNSUBSCRIBE [channel [channel ...]]
func unsubscribe(c *Call) resp.Value { return c.unsubscribeFrom(subChannel) }

// punsubscribe: PUNSUBSCRIBE [pattern [pattern ...]]
func punsubscribe(c *Call) resp.Value { return c.unsubscribeFrom(subPattern) }

// sunsubscribe: SUNSUBSCRIBE [shardchannel [shardchannel ...]]
func sunsubscribe(c *Call) resp.Value { return c.unsubscribeFrom(subShard) }

func (c *Call) unsubscribeFrom(kind subKind) resp.Value {
	if len(c.Args) == 1 {
		return resp.Pushes(c.Sess.unsubscribeAll(kind)...)
	}
	var confirmed []resp.Value
	for _, channel := range c.Args[1:] {
		confirmed = append(confirmed, c.Sess.unsubscribe(kind, channel))
	}
	return resp.Pushes(confirmed...)
}

// publish: PUBLISH channel message
func publish(c *Call) resp.Value {
	c.sendMessage()
	return resp.Int(c.core.publish(c.Args[1], c.Args[2]))
}

// sendMessage makes replicas get the message; on a cluster it spreads in other ways.
func (c *Call) sendMessage() {
	if c.cluster == nil {
		c.sendAlways()
	}
}

// spublish: SPUBLISH shardchannel message
func spublish(c *Call) resp.Value {
	c.sendMessage()
	channel := c.Args[1]
	return resp.Int(c.publishTo(subShard, channel, resp.Push(resp.Bulk("smessage"), resp.Bulk(channel), resp.Bulk(c.Args[2]))))
}

// pubsubChannels: PUBSUB CHANNELS [pattern]
func pubsubChannels(c *Call) resp.Value { return c.activeChannels(subChannel) }

// pubsubShardchannels: PUBSUB SHARDCHANNELS [pattern]
func pubsubShardchannels(c *Call) resp.Value { return c.activeChannels(subShard) }

func (c *Call) activeChannels(kind subKind) resp.Value {
	if len(c.Args) > 3 {
		return c.subcommandSyntax()
	}
	out := []resp.Value{}
	for name := range c.subs[kind].names.all() {
		if len(c.Args) == 2 || globMatch(c.Args[2], name, false) {
			out = append(out, resp.Bulk(name))
		}
	}
	return resp.Array(out...)
}

// pubsubNumsub: PUBSUB NUMSUB [channel [channel ...]]
func pubsubNumsub(c *Call) resp.Value { return c.countSubscribers(subChannel) }

// pubsubShardnumsub: PUBSUB SHARDNUMSUB [shardchannel [shardchannel ...]]
func pubsubShardnumsub(c *Call) resp.Value { return c.countSubscribers(subShard) }

func (c *Call) countSubscribers(kind subKind) resp.Value {
	out := []resp.Value{}
	for _, name := range c.Args[2:] {
		out = append(out, resp.Bulk(name), resp.Int(int64(len(c.subs[kind].byName[name]))))
	}
	return resp.Array(out...)
}

// pubsubNumpat: PUBSUB NUMPAT
func pubsubNumpat(c *Call) resp.Value { return resp.Int(int64(c.subs[subPattern].names.len())) }

// pubsubHelp: PUBSUB HELP
func pubsubHelp(*Call) resp.Value {
	return helpReply("PUBSUB",
		"CHANNELS [<pattern>]",
		"    Return the currently active channels matching a <pattern> (default: '*').",
		"NUMPAT",
		"    Return number of subscriptions to patterns.",
		"NUMSUB [<channel> ...]",
		"    Return the number of subscribers for the specified channels, excluding",
		"    pattern subscriptions(default: no channels).",
		"SHARDCHANNELS [<pattern>]",
		"    Return the currently active shard level channels matching a <pattern> (default: '*').",
		"SHARDNUMSUB [<shardchannel> ...]",
		"    Return the number of subscribers for the specified shard level channel(s)")
}
