import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A file that the user edits, readable for this user alone. */
export interface EditedFile extends AsyncDisposable {
  readonly path: string
  /** Writes a text, runs the editor, and reads what the user has saved. @throws NP_ORCHCTL_EDITOR */
  edit(text: string): Promise<string>
  /** Leaves the file where it is when this is disposed. */
  keep(): void
}

/** Makes the file in a folder of its own. */
export async function openEditedFile(env: Environment): Promise<EditedFile> {
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
