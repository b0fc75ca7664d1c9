import type { JsonObject } from '../../lib/json.ts'
import type { CommandContext } from '../command/command-module.ts'
import { documentText, objectName } from '../output/documents.ts'
import { outputFormat } from '../output/output-format.ts'
import { oneLine } from '../output/terminal-text.ts'
import { usageError } from '../usage/exit-code.ts'
import { dryRunSuffix, type WriteFlags } from './write-flags.ts'

/** Prints what happened to an object: `service/web created`, or the object in the format of `-o`. */
export async function showWritten(
  object: JsonObject,
  verb: string,
  flags: Pick<WriteFlags, 'output' | 'dryRun'>,
  context: CommandContext,
): Promise<void> {
  const format = await outputFormat(flags.output)
  if (format.type === 'table') {
    if (format.isWide) throw usageError('-o wide is for get', 'write json, yaml or name')
    context.print(`${oneLine(objectName(object))} ${verb}${dryRunSuffix(flags)}\n`)
    return
  }
  const isTerminal = context.host.stdout.isTTY === true
  const text = await documentText(format, object, { isTerminal })
  context.print(format.type === 'yaml' ? `---\n${text}` : text)
}
