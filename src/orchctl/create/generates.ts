import type { Command } from 'commander'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { FileFlags } from '../../manifests/manifests.ts'
import { collectionPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { type CommandContext, runs } from '../session/command-module.ts'
import { type ExitCode, usageError } from '../usage/exit-code.ts'
import { addWriteFlags, showWritten, type WriteFlags, writeQuery } from '../writing/write-flags.ts'

/** Builds the object of a name and flags, without a namespace. @throws NP_ORCHCTL_USAGE */
export type Build<Flags> = (
  name: string,
  flags: Flags,
  context: CommandContext,
) => JsonObject | Promise<JsonObject>

/** Makes a command create the object that `build` returns. */
export function generates<Flags extends object>(
  command: Command,
  context: CommandContext,
  build: Build<Flags>,
): void {
  addWriteFlags(command.argument('<name>'))
  runs<Flags & WriteFlags & FileFlags>(command, context, async (args, flags) => {
    if (flags.filename !== undefined) throw usageError('-f does not go with a kind and a name')
    const object = await build(args[0] ?? '', flags, context)
    return create(object, flags, context)
  })
}

async function create(
  object: JsonObject,
  flags: WriteFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const catalogue = await openCatalogue(context)
  const resource = await catalogue.ofKind(stringAt(object, 'apiVersion'), stringAt(object, 'kind'))
  const { api, namespace } = await context.session()
  const metadata = objectAt(object, 'metadata')
  const placed = resource.namespaced
    ? { ...object, metadata: { ...metadata, namespace } }
    : { ...object, metadata }
  if (flags.dryRun === 'client') {
    await showWritten(placed, 'created', flags, context)
    return 0
  }
  const path = collectionPath(resource, namespace)
  const created = await api.send({ method: 'POST', path, body: placed, query: writeQuery(flags) })
  await showWritten(created, 'created', flags, context)
  return 0
}
