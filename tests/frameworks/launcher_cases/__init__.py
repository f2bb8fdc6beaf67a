"""PyTorch's tests of its launcher as cases for any launcher: command lines with the expected outcome."""

from launcher_cases import (
    agent_cases,
    end_cases,
    error_cases,
    node_cases,
    option_cases,
    output_cases,
    run_cases,
)

CASES = [
    case
    for group in (
        run_cases,
        node_cases,
        option_cases,
        agent_cases,
        end_cases,
        output_cases,
        error_cases,
    )
    for case in group.CASES
]
