"""The ordered run of an action on the chain's state."""
