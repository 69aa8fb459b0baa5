"""What is computed on a loaded model: passes, patching, answers, generation, gradients."""
