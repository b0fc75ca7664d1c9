import type { Command } from 'commander'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { SCRIPTS } from './scripts.ts'

const ABOUT = `
Completion requests the types and names from the server when a key is pressed.

  bash:  source <(orchctl completion bash)
  zsh:   source <(orchctl completion zsh)
  fish:  orchctl completion fish | source
`

/** `orchctl completion SHELL`. */
export function define(command: Command, context: CommandContext): void {
  command.argument('<shell>', 'bash, zsh or fish').addHelpText('after', ABOUT)
  runs(command, context, completion)
}

function completion(
  [shell = '']: readonly string[],
  _flags: object,
  context: CommandContext,
): Promise<ExitCode> {
  const script = SCRIPTS.get(shell)
  if (script === undefined) {
    const meant = nearest(shell, SCRIPTS.keys())
    const hint = meant === undefined ? 'write bash, zsh or fish' : `did you mean ${meant}?`
    throw usageError(`there is no completion for ${quote(shell)}`, hint)
  }
  context.print(script)
  return Promise.resolve(0)
}
