"""Environments of Gymnasium for learning to walk: `hexapod_dynamics/Walk-v0` and `hexapod_dynamics/Damaged-v0`.

Importing this package registers them. It needs gymnasium: pip install 'hexapod_dynamics[learning]'.
"""

from hexapod_dynamics.learning.registration import register_environments

register_environments()
