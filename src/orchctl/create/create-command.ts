import type { Command } from 'commander'
import { type FileFlags, readManifests } from '../../manifests/manifests.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { eachManifest, manifestTarget } from '../writing/manifest-target.ts'
import { manifestRefusal } from '../writing/refusal-lines.ts'
import {
  addFileFlags,
  addWriteFlags,
  showWritten,
  type WriteFlags,
  writeQuery,
} from '../writing/write-flags.ts'
import { defineConfigMap, defineSecrets } from './data-objects.ts'
import { generates } from './generates.ts'
import { defineBindings, defineRoles } from './roles.ts'
import { defineServices } from './services.ts'
import { defineToken } from './token.ts'

/** `orchctl create -f`, and `orchctl create KIND NAME` for some kinds. */
export function define(command: Command, context: CommandContext): void {
  command.usage('-f FILE, or: create KIND NAME [flags]')
  addWriteFlags(addFileFlags(command))
  runs(command, context, createFiles)
  for (const defineKind of [
    defineNamespace,
    defineServiceAccount,
    defineToken,
    defineSecrets,
    defineConfigMap,
    defineServices,
    defineRoles,
    defineBindings,
  ]) {
    defineKind(command, context)
  }
}

/**
 * `orchctl create -f`: creates the object of each manifest. A manifest that is refused does not stop the others.
 * @throws NP_ORCHCTL_USAGE without -f, or with operands
 */
const createFiles: Run<FileFlags & WriteFlags> = async (args, flags, context) => {
  if (args.length > 0 || flags.filename === undefined) {
    throw usageError('create needs -f FILE, or a kind and a name', 'see orchctl create --help')
  }
  const manifests = await readManifests(flags, context.host.stdin)
  const catalogue = await openCatalogue(context)
  const session = await context.session()
  return eachManifest(manifests, context, async (manifest) => {
    const { object, collection } = await manifestTarget(manifest, catalogue, session)
    if (flags.dryRun === 'client') {
      await showWritten(object, 'created', flags, context)
      return []
    }
    const query = { ...writeQuery(flags), fieldValidation: 'Strict' }
    const request = { method: 'POST', path: collection, body: object, query } as const
    const answer = await session.api.request(request)
    if (!answer.ok) return manifestRefusal(answer.failure, manifest)
    await showWritten(answer.value.body, 'created', flags, context)
    return []
  })
}

/** `orchctl create namespace NAME`. */
function defineNamespace(create: Command, context: CommandContext): void {
  const command = create.command('namespace').alias('ns').description('Create a Namespace.')
  generates(command, context, (name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }))
}

/** `orchctl create serviceaccount NAME`. */
function defineServiceAccount(create: Command, context: CommandContext): void {
  const command = create
    .command('serviceaccount')
    .alias('sa')
    .description('Create a ServiceAccount.')
  generates(command, context, (name) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name },
  }))
}
