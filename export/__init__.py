"""Programs that turn a trained model into something to deploy."""
