import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { tieToUs } from '../tie-to-us.ts'
import type { OrchctlShell } from './orchctl-shell.ts'

const BIN = fileURLToPath(new URL('../../../bin', import.meta.url))
const TIMEOUT_MS = 60_000

/** How a shell is started without files of the user, how it gets the completion, and which keys go to its line's start. */
const SHELLS = {
  bash: {
    command: 'bash --norc --noprofile -i',
    setup: 'bind "set bell-style none"; source <(orchctl completion bash)',
  },
  zsh: {
    command: 'zsh -f -i',
    setup: 'bindkey -e; autoload -Uz compinit; compinit -D -u; source <(orchctl completion zsh)',
  },
} as const

export type InteractiveShell = keyof typeof SHELLS

/**
 * What a shell on a terminal makes of a line when the user presses the tabulator at its end. A user types `echo` before
 * it and runs it: so the shell itself says what it is.
 */
export async function completedBy(
  shell: InteractiveShell,
  line: string,
  { home }: OrchctlShell,
): Promise<string> {
  const { command, setup } = SHELLS[shell]
  // The terminal is one of `script`, of util-linux.
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: home,
    env: {
      ...process.env,
      ...{
        HOME: home,
        KUBECONFIG: `${home}/kubeconfig`,
        TERM: 'dumb',
        PS1: '',
        INPUTRC: '/dev/null',
      },
      PATH: `${BIN}:${process.env['PATH']}`,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  tieToUs(child)
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
  const output = { text: '' }
  const seen = async (marker: RegExp): Promise<RegExpExecArray> => {
    for (let found = marker.exec(output.text); ; found = marker.exec(output.text)) {
      if (found !== null) return found
      const [chunk] = await Promise.race([onceData(child.stdout), onceEnd(child)])
      if (chunk === undefined) throw new Error(`${shell} ended: ${output.text}`)
      output.text += chunk.toString('utf8')
    }
  }
  try {
    child.stdin.write(`${setup}; echo IS''READY\n`)
    await seen(/ISREADY/)
    // Control-A goes to the start of the line.
    child.stdin.write(`${line}\t\u0001echo "IT""IS <" \u0005'>'\n`)
    const [, completed = ''] = await seen(/ITIS < (.*?) ?>/)
    return completed
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}

async function onceData(stream: NodeJS.ReadableStream): Promise<[Buffer | undefined]> {
  return new Promise((resolve) => stream.once('data', (chunk: Buffer) => resolve([chunk])))
}

async function onceEnd(child: ReturnType<typeof spawn>): Promise<[undefined]> {
  return new Promise((resolve) => child.once('exit', () => resolve([undefined])))
}
