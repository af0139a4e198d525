"""The compiled loops of the encoder; nothing imports them before they are needed."""
