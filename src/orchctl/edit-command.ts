import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { isDeepEqual } from '../lib/equal.ts'
import { NodeProxyError } from '../lib/error.ts'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  mergePatch,
  objectAt,
  ownValue,
  setOwn,
  stringAt,
  without,
} from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { parseManifests } from '../manifests/manifests.ts'
import { objectPath } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { selectedObject } from './discovery/selected.ts'
import { withoutManagedFields, yamlText } from './output/documents.ts'
import { oneLine } from './output/terminal-text.ts'
import { type CallFailure, failureError } from './session/call-failure.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import type { ExitCode } from './usage/exit-code.ts'
import { FIELD_MANAGER, showWritten } from './writing/write-flags.ts'

/** `orchctl edit`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('[operands...]', 'TYPE NAME, or TYPE/NAME')
    .option('-o, --output <format>', 'the result as json|yaml|name')
    .addHelpText('after', '\nThe editor: $ORCH_EDITOR, $KUBE_EDITOR, $VISUAL, $EDITOR, else vi.')
  runs(command, context, edit)
}

const MAX_ROUNDS = 50

/** What the user edits, and what the server has. */
interface Round {
  /** The object as the server has it. */
  readonly base: JsonObject
  /** What the file holds. */
  readonly text: string
  /** The lines above the text that say why the file is opened again. */
  readonly problems: readonly string[]
}

const edit: Run<{ readonly output?: string }> = async (args, flags, context) => {
  const { resource, name } = await selectedObject(args, await openCatalogue(context))
  const { api, namespace } = await context.session()
  const path = objectPath(resource, namespace, name)
  const base = await api.send({ path })
  await using file = await openEditedFile(context.host.env)
  let round: Round = { base, text: await yamlText(withoutManagedFields(base)), problems: [] }
  for (let count = 0; count < MAX_ROUNDS; count++) {
    const text = headerOf(round.problems) + round.text
    const written = count === 0 ? await file.edit(text) : await keptIfFails(file, file.edit(text))
    const edited = withoutComments(written)
    if (edited === withoutComments(round.text)) return unchanged(round, file, context)
    const result = await keptIfFails(file, submit(round, edited, { path, context }))
    if ('saved' in result) {
      await showWritten(result.saved, 'edited', flags, context)
      return 0
    }
    // The text was changed, but not the object.
    if (result.problems.length === 0) return unchanged(result, file, context)
    round = result
  }
  return unchanged(round, file, context)
}

/** Ends the command after the user left the file unchanged: the user gave up, or there was nothing to do. */
function unchanged({ problems }: Round, file: EditedFile, context: CommandContext): ExitCode {
  if (problems.length === 0) {
    context.notice('Edit cancelled, no changes made.')
    return 0
  }
  file.keep()
  throw new NodeProxyError('NP_ORCHCTL_EDIT', `the object was not saved: ${problems[0] ?? ''}`, {
    hint: `your text is in ${file.path}`,
  })
}

/** What `work` resolves to. If it rejects, the user's text stays, and the error says where. */
async function keptIfFails<T>(file: EditedFile, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (!(cause instanceof NodeProxyError)) throw cause
    file.keep()
    const { code, message, object, hint } = cause
    const where = `your text is in ${file.path}`
    throw new NodeProxyError(code, message, {
      cause,
      hint: hint === undefined ? where : `${hint}; ${where}`,
      ...(object !== undefined && { object }),
    })
  }
}

interface Submitting {
  readonly path: string
  readonly context: CommandContext
}

/** Sends what the user wrote. @returns the saved object, or the next round; without problems: the object is unchanged */
async function submit(
  { base, text }: Round,
  edited: string,
  { path, context }: Submitting,
): Promise<Round | { readonly saved: JsonObject }> {
  const { api } = await context.session()
  let object: JsonObject
  try {
    const [first, ...others] = parseManifests({ file: 'object.yaml', text: edited })
    if (first === undefined || others.length > 0)
      return { base, text: edited, problems: [ONE_OBJECT] }
    object = first.object
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return { base, text: edited, problems: [error.message] }
  }
  const change = mergeDifference(withoutManagedFields(base), object)
  if (Object.keys(change).length === 0) return { base, text, problems: [] }
  const put = { method: 'PUT', path, query: { fieldManager: FIELD_MANAGER } } as const
  const answer = await api.request({
    ...put,
    body: guarded(mergePatch(base, change) as JsonObject, base),
  })
  if (answer.ok) return { saved: answer.value.body }
  if (answer.failure.code !== 409)
    return { base, text: edited, problems: problemsOf(answer.failure) }
  const fresh = await api.send({ path })
  const theirs = mergeDifference(withoutManagedFields(base), withoutManagedFields(fresh))
  const merged = mergePatch(fresh, change) as JsonObject
  const next = await yamlText(withoutManagedFields(guarded(merged, fresh)))
  if (!isContradiction(withoutServerFields(theirs), withoutServerFields(change))) {
    const again = await api.request({ ...put, body: guarded(merged, fresh) })
    if (again.ok) return { saved: again.value.body }
    if (again.failure.code !== 409)
      return { base: fresh, text: next, problems: problemsOf(again.failure) }
  }
  return isDeepEqual(withoutManagedFields(merged), withoutManagedFields(fresh))
    ? { saved: fresh }
    : { base: fresh, text: next, problems: [CONFLICT] }
}

const ONE_OBJECT = 'write exactly one object'
const CONFLICT =
  'the object was changed meanwhile; this is the new one with your changes; to save it, add an empty line at its end'

/** The object with the resourceVersion on which it is based, so that the server refuses it if there is a newer one. */
function guarded(object: JsonObject, base: JsonObject): JsonObject {
  const resourceVersion = stringAt(base, 'metadata', 'resourceVersion')
  return { ...object, metadata: { ...objectAt(object, 'metadata'), resourceVersion } }
}

/** The patch without what the server sets: status, resourceVersion and generation. */
function withoutServerFields(patch: JsonObject): JsonObject {
  const metadata = without(objectAt(patch, 'metadata'), 'resourceVersion', 'generation')
  return { ...without(patch, 'status'), metadata }
}

function problemsOf(failure: CallFailure): readonly string[] {
  if (failure.code === 0) throw failureError(failure)
  const named = failure.causes.filter(({ field }) => field !== '')
  return named.length === 0
    ? [`${failure.reason}: ${failure.message}`]
    : named.map(({ field, message }) => `${field}: ${message}`)
}

function headerOf(problems: readonly string[]): string {
  const lines = [
    'Save and leave the editor to change the object; leave it as it is to change nothing.',
    ...problems.map((problem) => `error: ${oneLine(problem)}`),
  ]
  return `${lines.map((line) => `# ${line}\n`).join('')}#\n`
}

/** The text without the comment lines at its beginning. */
function withoutComments(text: string): string {
  return text.replace(/^(?:#[^\n]*\n)+/u, '')
}

type Environment = Readonly<Record<string, string | undefined>>

/** A file that the user edits, readable for this user only. */
interface EditedFile extends AsyncDisposable {
  readonly path: string
  /** Writes a text, runs the editor, and reads what the user has saved. @throws NP_ORCHCTL_EDITOR */
  edit(text: string): Promise<string>
  /** Leaves the file where it is when this is disposed. */
  keep(): void
}

/** Makes the file in a folder of its own. */
async function openEditedFile(env: Environment): Promise<EditedFile> {
  const folder = await mkdtemp(join(tmpdir(), 'orchctl-edit-'))
  const path = join(folder, 'object.yaml')
  let isKept = false
  return {
    path,
    keep: () => {
      isKept = true
    },
    async edit(text) {
      await writeFile(path, text, { mode: 0o600 })
      await runEditor(env, path)
      return readFile(path, 'utf8')
    },
    async [Symbol.asyncDispose]() {
      if (!isKept) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The program of ORCH_EDITOR, KUBE_EDITOR, VISUAL or EDITOR with its arguments, else vi. No shell is involved. */
function editorOf(env: Environment): readonly string[] {
  const names = ['ORCH_EDITOR', 'KUBE_EDITOR', 'VISUAL', 'EDITOR']
  const text = names.map((name) => env[name]?.trim() ?? '').find((one) => one !== '') ?? 'vi'
  return text.split(/\s+/u)
}

async function runEditor(env: Environment, path: string): Promise<void> {
  const [program = 'vi', ...args] = editorOf(env)
  const outcome = await new Promise<string>((resolve) => {
    const child = spawn(program, [...args, path], { stdio: 'inherit', shell: false })
    child.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    child.once('close', (code, signal) => resolve(code === 0 ? '' : `exit ${code ?? signal}`))
  })
  if (outcome === '') return
  throw new NodeProxyError('NP_ORCHCTL_EDITOR', `the editor ${quote(program)} failed: ${outcome}`, {
    hint: 'set EDITOR to a program of this machine; nothing was changed',
  })
}

/** The merge patch (RFC 7396) that turns one object into the other. Lists are replaced as a whole. */
export function mergeDifference(before: JsonObject, after: JsonObject): JsonObject {
  const patch: JsonObject = {}
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [one, other] = [ownValue(before, key), ownValue(after, key)]
    if (other === undefined) setOwn(patch, key, null)
    else if (isJsonObject(one) && isJsonObject(other)) {
      const inner = mergeDifference(one, other)
      if (Object.keys(inner).length > 0) setOwn(patch, key, inner)
    } else if (!isDeepEqual(one, other)) setOwn(patch, key, other)
  }
  return patch
}

/** Whether two merge patches set the same field to different values. */
export function isContradiction(one: Json | undefined, other: Json | undefined): boolean {
  if (one === undefined || other === undefined) return false
  if (!isJsonObject(one) || !isJsonObject(other)) return !isDeepEqual(one, other)
  return Object.keys(one).some((key) => isContradiction(ownValue(one, key), ownValue(other, key)))
}
