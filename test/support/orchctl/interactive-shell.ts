import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tieToUs } from '../tie-to-us.ts'
import type { OrchctlShell } from './orchctl-shell.ts'

/** How each shell is started without files of the user, and how it loads the completion. */
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

/** A shell on a terminal, with the completion of orchctl. */
export interface ShellOnTerminal extends AsyncDisposable {
  /** The line after the user has pressed the tab key at its end. */
  completed(line: string): Promise<string>
}

/** Opens a shell on a terminal that the program `script` of util-linux provides. `bin`: the folder of orchctl. */
export async function openShellOnTerminal(
  name: InteractiveShell,
  { home }: OrchctlShell,
  bin: string,
): Promise<ShellOnTerminal> {
  const { command, setup } = SHELLS[name]
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: home,
    env: {
      ...process.env,
      HOME: home,
      KUBECONFIG: `${home}/kubeconfig`,
      TERM: 'dumb',
      INPUTRC: '/dev/null',
      PS1: '',
      PATH: `${bin}:${process.env['PATH']}`,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  tieToUs(child)
  const exit = once(child, 'exit')
  const chunks = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  let output = ''

  /** Waits for output of the shell that matches, and discards everything up to its end. */
  async function seen(text: RegExp): Promise<string> {
    for (;;) {
      const found = text.exec(output)
      if (found !== null) {
        output = output.slice(found.index + found[0].length)
        return found[1] ?? ''
      }
      const next = await chunks.next()
      if (next.done === true) throw new Error(`${name} ended: ${output}`)
      output += String(next.value)
    }
  }

  child.stdin.write(`${setup}; echo IS''READY\n`)
  await seen(/ISREADY/)
  return {
    async completed(line) {
      // Control-A and Control-E go to the start and the end: the shell itself prints what the line has become.
      child.stdin.write(`${line}\t\u0001echo "IT""IS <" \u0005'>'\n`)
      return (await seen(/ITIS < (.*?)>/)).trimEnd()
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
