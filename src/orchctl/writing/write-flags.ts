import { type Command, Option } from 'commander'
import type { Query } from '../../client/http/query.ts'
import type { JsonObject } from '../../lib/json.ts'
import { objectName, printDocument } from '../output/documents.ts'
import { outputFormat } from '../output/output-format.ts'
import { oneLine } from '../output/terminal-text.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { repeated } from '../usage/global-flags.ts'

/** Flags of commands that write. */
export interface WriteFlags {
  readonly dryRun?: 'none' | 'client' | 'server'
  readonly output?: string
  readonly fieldManager: string
}

/** The manager of the fields that orchctl writes. */
export const FIELD_MANAGER = 'orchctl'

/** Adds `--dry-run`, `-o` and `--field-manager`. */
export function addWriteFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--dry-run <where>',
        'client: show what would be sent; server: let the server check it and keep nothing',
      ).choices(['none', 'client', 'server']),
    )
    .option('-o, --output <format>', 'the result as json|yaml|name|jsonpath=TEMPLATE')
    .option('--field-manager <name>', 'who manages the written fields', FIELD_MANAGER)
}

/** Adds `-f` and `-R`. */
export function addFileFlags(command: Command): Command {
  return command
    .addOption(
      repeated(
        '-f, --filename <path>',
        'a file, a folder, or - for standard input; repeat for more',
      ),
    )
    .option('-R, --recursive', 'with -f: folders inside of folders, too')
}

/** The parameters of a request that writes. */
export function writeQuery({ dryRun, fieldManager }: WriteFlags): Query {
  return { fieldManager, ...(dryRun === 'server' ? { dryRun: 'All' } : {}) }
}

/** The text after the result of a dry run. */
export function dryRunSuffix({ dryRun }: Pick<WriteFlags, 'dryRun'>): string {
  if (dryRun === 'server') return ' (server dry run)'
  return dryRun === 'client' ? ' (dry run)' : ''
}

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
  if (format.type === 'yaml') context.print('---\n')
  await printDocument(format, object, context)
}
