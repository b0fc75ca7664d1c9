import type { Command } from 'commander'
import { stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { readManifests } from '../../manifests/manifests.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import {
  type ApiResource,
  collectionPath,
  objectPath,
  qualifiedKind,
} from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { outputFormat } from '../output/output-format.ts'
import { oneLine } from '../output/terminal-text.ts'
import { listObjects } from '../reading/list-pages.ts'
import { namespaceOf, selectorQuery } from '../reading/scope.ts'
import { selectedBy } from '../selection/selected.ts'
import { failureError } from '../session/call-failure.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { manifestTarget } from '../writing/manifest-target.ts'
import { addFileFlags, dryRunSuffix } from '../writing/write-flags.ts'
import { addDeleteFlags, type DeleteFlags, deleteOptions, timeoutOf } from './delete-flags.ts'
import { waitUntilGone } from './wait-until-gone.ts'

/** `orchctl delete`. */
export function define(command: Command, context: CommandContext): void {
  command.argument('[operands...]', 'TYPE NAME..., TYPE/NAME ..., or TYPE with -l or --all')
  addDeleteFlags(addFileFlags(command))
  runs<DeleteFlags>(command, context, remove)
}

/** An object that is to be deleted. */
interface Doomed {
  readonly resource: ApiResource
  readonly name: string
  readonly path: string
}

async function remove(
  args: readonly string[],
  flags: DeleteFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const format = await outputFormat(flags.output)
  if (format.type !== 'table' && format.type !== 'name') throw usageError('-o: only name')
  const timeoutMs = timeoutOf(flags)
  const objects = await (flags.filename === undefined
    ? ofOperands(args, flags, context)
    : ofFiles(args, flags, context))
  let code: ExitCode = 0
  const started: (Doomed & { readonly uid: string })[] = []
  for (const object of objects) {
    const uid = await removeOne(object, { flags, context, isName: format.type === 'name' })
    if (uid === undefined) code = 1
    else if (uid !== '') started.push({ ...object, uid })
  }
  if (objects.length === 0) context.notice('No resources found')
  if (!flags.wait || flags.dryRun !== undefined) return code
  const session = await context.session()
  for (const { path, uid, name } of started) {
    const { signal } = context.host
    const isGone = await waitUntilGone(session.api, { path, uid, timeoutMs, signal })
    if (isGone) continue
    context.notice(`orchctl: ${name} still exists; finalizers or Pods may keep it`)
    code = 1
  }
  return code
}

interface Removing {
  readonly flags: DeleteFlags
  readonly context: CommandContext
  readonly isName: boolean
}

/** @returns the UID to wait for; empty: nothing to wait for; undefined: it failed, which is reported */
async function removeOne(
  { resource, name, path }: Doomed,
  { flags, context, isName }: Removing,
): Promise<string | undefined> {
  const { api } = await context.session()
  const body = deleteOptions(flags)
  const answer =
    flags.dryRun === 'client'
      ? await api.request({ path })
      : await api.request({ method: 'DELETE', path, body })
  if (!answer.ok) {
    if (answer.failure.code === 404 && flags.ignoreNotFound === true) return ''
    const error = failureError(answer.failure)
    if (answer.failure.code === 0) throw error
    context.report(error)
    return undefined
  }
  const kind = qualifiedKind(resource)
  const suffix = `${flags.force === true ? ' force' : ''} deleted${dryRunSuffix(flags)}`
  context.print(`${oneLine(isName ? `${kind}/${name}` : `${kind} "${name}"${suffix}`)}\n`)
  const { body: result } = answer.value
  return stringAt(result, 'details', 'uid') || stringAt(result, 'metadata', 'uid')
}

async function ofOperands(
  args: readonly string[],
  flags: DeleteFlags,
  context: CommandContext,
): Promise<readonly Doomed[]> {
  const session = await context.session()
  const selected = await selectedBy(args, await openCatalogue(context))
  const isSelective = flags.selector !== undefined || flags.fieldSelector !== undefined
  const found: Doomed[] = []
  for (const { resource, name } of selected) {
    if (name !== undefined) {
      if (isSelective || flags.all === true) throw usageError('names do not go with -l or --all')
      if (flags.allNamespaces === true) throw usageError('names do not go with -A')
      found.push({ resource, name, path: objectPath(resource, session.namespace, name) })
      continue
    }
    if (!isSelective && flags.all !== true) {
      throw usageError(
        `${quote(resource.plural)} without a name would delete all of them`,
        'name objects, or give -l SELECTOR or --all',
      )
    }
    const path = collectionPath(resource, namespaceOf(session, flags))
    for (const object of await listObjects(session.api, { path, query: selectorQuery(flags) })) {
      const [own, inside] = ['name', 'namespace'].map((key) => stringAt(object, 'metadata', key))
      found.push({ resource, name: own ?? '', path: objectPath(resource, inside, own ?? '') })
    }
  }
  return found
}

async function ofFiles(
  args: readonly string[],
  flags: DeleteFlags,
  context: CommandContext,
): Promise<readonly Doomed[]> {
  if (args.length > 0) throw usageError('-f does not go with operands')
  const manifests = await readManifests(flags, context.host.stdin)
  const catalogue = await openCatalogue(context)
  const session = await context.session()
  return Promise.all(manifests.map((manifest) => manifestTarget(manifest, catalogue, session)))
}
