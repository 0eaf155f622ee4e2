"""What a GitHub Actions runner is told: workflow commands, outputs, the step summary. Text in, text out."""
