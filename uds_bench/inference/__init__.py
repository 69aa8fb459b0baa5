"""What is computed on a loaded model: passes, patching, answers, generation, gradients; metrics make numbers of it."""
