"""Linear algebra: the functions of ``flambeau.linalg``, and in ``top_level`` those of ``flambeau`` itself."""
