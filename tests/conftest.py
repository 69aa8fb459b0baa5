"""Its place puts this folder on the import path, so that tests in any subfolder can say ``from families import ...``."""
