import type { CommandContext } from '../command/context.ts'
import { type CommandWords, flagsOf, readCommandWords } from './command-words.ts'
import { flagValues } from './flag-values.ts'
import { operandValues } from './operand-values.ts'

/** What the word behind `before` may be; not only those that fit what is typed of it. None: anything. */
export async function candidatesFor(
  before: readonly string[],
  last: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const words = await readCommandWords(before, context)
  if (words.flag !== undefined) return flagValues(words.flag, context)
  if (last.startsWith('-')) return flagCandidates(words, last, context)
  const { path, command, operands } = words
  if (path === '') {
    return context.commands.filter((one) => one.isHidden !== true).map((one) => one.name)
  }
  if (command === undefined) return []
  if (command.commands.length > 0) return command.commands.map((one) => one.name())
  return operandValues(path, { operands, last, context })
}

/** Flags; behind `=` values of the flag. */
async function flagCandidates(
  { command }: CommandWords,
  last: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const flags = flagsOf(command)
  const [name = '', value] = last.split('=', 2)
  if (value === undefined) return flags.flatMap(({ long }) => (long ? [long] : []))
  const flag = flags.find(({ long }) => long === name)
  if (flag === undefined || !flag.required) return []
  return (await flagValues(flag, context)).map((one) => `${name}=${one}`)
}
