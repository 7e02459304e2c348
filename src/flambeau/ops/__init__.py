"""The grammar: every primitive operation, declared once with its gradient, a file a family."""
