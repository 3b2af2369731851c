"""Consumes without a request: a product spends units that are set aside for it, writes each spend down, and settles later."""
