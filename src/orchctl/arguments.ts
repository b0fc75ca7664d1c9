import type { Command, CommanderError } from 'commander'
import type { NodeProxyError } from '../lib/error.ts'
import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import type { CommandEntry } from './session/command-module.ts'
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

/**
 * The arguments in the form that the parser reads: `-o=json` becomes `-ojson`, and a switch with a value such as
 * `--wait=false` becomes `--no-wait`, or is dropped if the switch is off anyway. Nothing after `--` is changed.
 */
export function normalised(args: readonly string[], program: Command): readonly string[] {
  const switches = new Set(switchesOf(program))
  const end = args.includes('--') ? args.indexOf('--') : args.length
  return args.flatMap((arg, index) => (index < end ? normalise(arg, switches) : [arg]))
}

function normalise(arg: string, switches: ReadonlySet<string>): readonly string[] {
  const short = /^-([A-Za-z])=(.+)$/s.exec(arg)
  if (short !== null) return [`-${short[1]}${short[2]}`]
  const [, name = '', value] = /^--([a-z-]+)=(true|false)$/.exec(arg) ?? []
  const [on, off] = [`--${name}`, `--no-${name}`]
  if (!switches.has(on) && !switches.has(off)) return [arg]
  const meant = value === 'true' ? on : off
  return switches.has(meant) ? [meant] : []
}

/** The switches of the loaded commands, with their dashes. */
function switchesOf(command: Command): readonly string[] {
  const own = command.options.filter((option) => option.isBoolean() || option.negate)
  return [...own.map(({ long }) => long ?? ''), ...command.commands.flatMap(switchesOf)]
}

/** The error of the argument parser in one line, with what was probably meant. */
export function explainRefusal(error: CommanderError, args: readonly string[]): NodeProxyError {
  const [line = '', more = ''] = error.message.replace(/^error: /, '').split('\n')
  const meant = /Did you mean (.*)\?\)/.exec(more)?.[1]
  const name = commandNames(args)[0]
  const help = `see orchctl ${name === undefined ? '' : `${name} `}--help`
  return usageError(line, meant === undefined ? help : `did you mean ${meant}?`)
}
