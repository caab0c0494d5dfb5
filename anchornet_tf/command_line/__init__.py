"""What the programs share: a quiet start, errors in one line, flags made from configurations."""
