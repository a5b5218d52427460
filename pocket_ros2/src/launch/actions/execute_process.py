"""The action that runs a command."""

from ..descriptions import Executable
from .execute_local import ExecuteLocal


class ExecuteProcess(ExecuteLocal):
    """Runs a command line: the keyword arguments of Executable, and those of ExecuteLocal."""

    def __init__(self, *, cmd, prefix=None, name=None, cwd=None, env=None, additional_env=None, **kwargs):
        super().__init__(
            process_description=Executable(
                cmd=cmd, prefix=prefix, name=name, cwd=cwd, env=env, additional_env=additional_env
            ),
            **kwargs,
        )

    @property
    def name(self):
        """The name with its number once the process is prepared, else the substitutions that make it."""
        description = self.process_description
        return description.name if description.final_name is None else description.final_name

    @property
    def cmd(self):
        """The command line once the process is prepared, else the substitutions that make it."""
        description = self.process_description
        return description.cmd if description.final_cmd is None else description.final_cmd

    @property
    def cwd(self):
        """The folder to run in, or None for that of the launch."""
        description = self.process_description
        return description.cwd if description.final_cwd is None else description.final_cwd

    @property
    def env(self):
        """The environment once the process is prepared, else the substitutions that make it."""
        description = self.process_description
        return description.env if description.final_env is None else description.final_env

    @property
    def additional_env(self):
        """What is set in the environment."""
        return self.process_description.additional_env
