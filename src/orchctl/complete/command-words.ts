import { Command, type Option } from 'commander'
import type { CommandContext } from '../command/context.ts'
import { addGlobalFlags } from '../usage/global-flags.ts'

/** The words of a command line up to the one that is being typed. */
export interface CommandWords {
  /** The name of the command, and of the one inside of it; empty: the word that is typed may become it. */
  readonly path: string
  /** The command of that name, or one inside of it that is named, too; undefined: there is none. */
  readonly command: Command | undefined
  /** What is neither a flag nor its value nor the name of a command. */
  readonly operands: readonly string[]
  /** The flag whose value is being typed. */
  readonly flag: Option | undefined
}

/** Reads the words; a flag that takes a value takes the next word, unless it stands behind `=`. */
export async function readCommandWords(
  before: readonly string[],
  context: CommandContext,
): Promise<CommandWords> {
  const globals = globalOptions()
  const reading = { path: '', command: undefined as Command | undefined, operands: [] as string[] }
  let flag: Option | undefined
  for (const word of before) {
    if (flag !== undefined) {
      flag = undefined
    } else if (word.startsWith('-') && word !== '-') {
      flag = valueFlag(word, [...(reading.command?.options ?? []), ...globals])
    } else if (reading.path === '') {
      reading.command = await loaded(word, context)
      reading.path = reading.command?.name() ?? word
    } else {
      const inner = innerCommand(reading.command, word)
      if (inner === undefined || reading.operands.length > 0) {
        reading.operands.push(word)
        continue
      }
      reading.command = inner
      reading.path += ` ${inner.name()}`
    }
  }
  return { ...reading, flag }
}

/** The flag of a word that has no value yet: `--output` or `-o`, but not `--output=json`, `-ojson` or a switch. */
function valueFlag(word: string, options: readonly Option[]): Option | undefined {
  return options.find(({ long, short, required }) => required && (word === long || word === short))
}

/** The global flags and those of the command. */
export function flagsOf(command: Command | undefined): readonly Option[] {
  return [...(command?.options ?? []), ...globalOptions()]
}

function globalOptions(): readonly Option[] {
  const command = new Command()
  addGlobalFlags(command)
  return command.options
}

async function loaded(name: string, context: CommandContext): Promise<Command | undefined> {
  const entry = context.commands.find((one) => [one.name, ...(one.aliases ?? [])].includes(name))
  if (entry === undefined) return undefined
  const command = new Command(entry.name)
  await entry.define(command)
  return command
}

function innerCommand(command: Command | undefined, word: string): Command | undefined {
  return command?.commands.find((one) => [one.name(), ...one.aliases()].includes(word))
}
