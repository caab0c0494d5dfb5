"""What a client asked that cannot be given: a status and one line."""

from anchornet_tf.annotations.checks import shown


class Refusal(Exception):
    """An answer other than what was asked for.

    Args:
        status: int, of HTTP: 4xx.
        message: str, one line for a person.
        content: Further values of the answer, by name.
    """

    def __init__(self, status: int, message: str, **content):
        super().__init__(message)
        self.status = status
        self.content = content


def expected(what: str, received, status: int = 400) -> Refusal:
    """Returns the refusal of a value.

    Args:
        what: str, what was expected.
        received: What came instead.
        status: int, of HTTP.
    """
    return Refusal(status, f"Expected {what}. Received: {shown(received)}")
