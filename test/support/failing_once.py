"""A function that fails once, in place of one that works: what a program does then, and whether it goes on."""


def failing_once(work, error):
    """Return a function that raises `error` in its first call, and is `work` then; `errors`: what it will raise."""

    def call(*given, **options):
        if call.errors:
            raise call.errors.pop()
        return work(*given, **options)

    call.errors = [error]
    return call
