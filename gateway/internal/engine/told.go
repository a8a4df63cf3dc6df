package engine

// Tell sets what State returns, for who reads the connection in another way than with a Worker.
func (k *Key) Tell(state uint32, number uint64) {
	k.state.Store(state)
	k.number.Store(number)
}
