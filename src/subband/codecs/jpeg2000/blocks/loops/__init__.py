"""The compiled loops of the block coder; nothing imports them before they are needed."""
