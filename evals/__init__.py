"""How well the embedded model looks things up: `python -m evals` asks it forty questions about two small projects."""
