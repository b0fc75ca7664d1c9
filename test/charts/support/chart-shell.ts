import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { root } from '../../support/on-demand/root.ts'
import { chartPrograms } from './programs.ts'

export interface ShellOptions {
  /** The path of a helm. */
  readonly helm: string
  /** The kubeconfig of the cluster; absent: there is none. */
  readonly kubeconfig?: string
}

/** A user's shell beside the charts, with helm and kubectl of their own and no cache of others. */
export interface ChartShell extends Disposable {
  /** Resolves to what the script printed. @throws Error with all that it printed unless it ends with 0 */
  run(script: string): Promise<string>
  /** Resolves to both outputs of a script that must fail. */
  fails(script: string): Promise<string>
  /** Writes a file in the folder of the shell. */
  write(name: string, text: string): void
}

/** No command here takes longer, unless it hangs. */
const TIMEOUT_MS = 120_000

export function openChartShell({ helm, kubeconfig }: ShellOptions): ChartShell {
  const home = mkdtempSync(join(tmpdir(), 'np-charts-'))
  const bin = join(home, 'bin')
  mkdirSync(bin)
  symlinkSync(helm, join(bin, 'helm'))
  symlinkSync(chartPrograms().kubectl, join(bin, 'kubectl'))
  for (const folder of ['charts', 'config']) symlinkSync(join(root, folder), join(home, folder))
  const env = {
    HOME: home,
    PATH: bin + delimiter + (process.env['PATH'] ?? ''),
    KUBECONFIG: kubeconfig ?? '/nonexistent',
  }
  const execute = (script: string): Promise<Ended> => bash(script, { cwd: home, env })
  return {
    run: async (script) => {
      const { isDone, out, err } = await execute(script)
      if (isDone) return out
      throw new Error(`${script}\n${out}${err}`)
    },
    fails: async (script) => {
      const { isDone, out, err } = await execute(script)
      if (!isDone) return out + err
      throw new Error(`did not fail: ${script}\n${out}${err}`)
    },
    write: (name, text) => writeFileSync(join(home, name), text),
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  }
}

interface Ended {
  readonly isDone: boolean
  readonly out: string
  readonly err: string
}

function bash(
  script: string,
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      'bash',
      ['-c', `set -eo pipefail\n${script}`],
      { ...options, timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 },
      (failure, out, err) => resolve({ isDone: failure === null, out, err }),
    )
    child.stdin?.end()
  })
}
