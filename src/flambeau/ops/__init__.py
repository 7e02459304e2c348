"""Ops: every primitive operation, declared once with its gradient, one file per family."""
