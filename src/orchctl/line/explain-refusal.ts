import type { CommanderError } from 'commander'
import type { NodeProxyError } from '../../lib/error.ts'
import { usageError } from '../usage/usage-error.ts'
import { commandNames } from './command-names.ts'

/** The error of the argument parser in one line, with what was probably meant. */
export function explainRefusal(error: CommanderError, args: readonly string[]): NodeProxyError {
  const [line = '', more = ''] = error.message.replace(/^error: /, '').split('\n')
  const meant = /Did you mean (.*)\?\)/.exec(more)?.[1]
  const name = commandNames(args)[0]
  const help = `see orchctl ${name === undefined ? '' : `${name} `}--help`
  return usageError(line, meant === undefined ? help : `did you mean ${meant}?`)
}
