import type { NodeProxyError } from '../lib/error.ts'
import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import type { CommandEntry } from './command/command-module.ts'
import { usageError } from './usage/exit-code.ts'
import { takesNextArgument } from './usage/global-flags.ts'

/** The word that names the command, and after `help` also the next word; empty: there is no command. */
export function commandNames(args: readonly string[]): readonly string[] {
  const words: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') break
    if (takesNextArgument(arg)) index++
    else if (!arg.startsWith('-')) words.push(arg)
  }
  return words.slice(0, words[0] === 'help' ? 2 : 1)
}

/** The error for words that name no command. */
export function unknownCommand(
  words: readonly string[],
  commands: readonly CommandEntry[],
): NodeProxyError | undefined {
  const known = commands.flatMap(({ name, aliases = [] }) => [name, ...aliases])
  const wrong = words.find((word) => word !== 'help' && !known.includes(word))
  if (wrong === undefined) return undefined
  const shown = commands.filter(({ isHidden = false }) => !isHidden).map(({ name }) => name)
  const meant = nearest(wrong, shown)
  const hint = meant === undefined ? 'orchctl --help lists all commands' : `did you mean ${meant}?`
  return usageError(`${quote(wrong)} is no command`, hint)
}
