import { blocksIn, type Section, sectionsOf } from './page-section.ts'

/** A command that a page has in its text. */
export interface PageCommand {
  readonly page: string
  /** One line, without comments. */
  readonly text: string
  readonly heading: string
  /** The number of its block in the section; absent: the command is in a sentence or a table. */
  readonly index?: number
  /** Whether it is the whole content of a table cell. */
  readonly isCell?: boolean
}

/** The programs with which a command in a sentence may begin. A block with a program that is not here fails a test. */
export const PROGRAMS: readonly string[] = [
  'node-proxy',
  'orch-server',
  'orchctl',
  'orch-dns',
  'kube-proxy',
  'kubeadm',
  'kubectl',
  'helm',
  'iptables',
  'ip6tables',
  'iptables-save',
  'iptables-restore',
  'iptables-nft-save',
  'iptables-legacy-save',
  'ipset',
  'ipvsadm',
  'nft',
  'ip',
  'conntrack',
  'sysctl',
  'modprobe',
  'docker',
  'ctr',
  'debootstrap',
  'systemctl',
  'journalctl',
  'runuser',
  'adduser',
  'apt-get',
  'fuser',
  'npm',
  'npx',
  'git',
  'tar',
  'ssh',
  'scp',
  'install',
  'ln',
  'mv',
  'cp',
  'rm',
  'chown',
  'ss',
  'curl',
  'jq',
  'dig',
  'openssl',
  'etcdctl',
  'etcdutl',
  'touch',
  'mkdir',
  'cd',
  'head',
  'cat',
  'scripts/setup',
  'scripts/node',
  '.ci/run',
  'run',
  'echo',
  'source',
  'timeout',
  'kill',
  'python3',
  'strip',
]

/** Shell keywords, assignments and function definitions, after which a line is not the command of a program. */
const OF_THE_SHELL = /^(?:(?:export|for|until|while|done|do|if|umask)\b|\(|\w+(?:=|\(\)))/

/** The commands in the blocks and in the text of a page. */
export function commandsOf(page: string): readonly PageCommand[] {
  return [...commandsOfBlocks(page), ...commandsOfText(page)]
}

/** The commands in the blocks of the language `sh`. */
export function commandsOfBlocks(
  page: string,
  sections: readonly Section[] = sectionsOf(page),
): readonly PageCommand[] {
  return sections.flatMap(({ heading, text }) =>
    blocksIn(text, 'sh').flatMap((block, index) =>
      commandsIn(block).map((command) => ({ page, heading, index, text: command })),
    ),
  )
}

/** The commands of a block, each in one line. */
function commandsIn(block: string): readonly string[] {
  return linesOf(block).map((lines) => lines.replaceAll(/\s*\\?\n\s*/g, ' ').trim())
}

/** The lines of a block. A quoted text, a function, a here-document or a `\` continues a command in the next line. */
export function linesOf(block: string): readonly string[] {
  const commands: string[] = []
  let open = ''
  for (const line of block.split('\n').map(withoutComment)) {
    open = open === '' ? line : `${open}\n${line}`
    if (goesOn(open)) continue
    commands.push(open)
    open = ''
  }
  return [...commands, open].filter((command) => command.trim() !== '')
}

function withoutComment(line: string): string {
  return line.replace(/(?:^|\s+)#(?: .*)?$/, '')
}

function goesOn(text: string): boolean {
  const [, end] = /<<'?(\w+)'?$/m.exec(text) ?? []
  if (end !== undefined) return !text.endsWith(`\n${end}`)
  if (/^\w+\(\) \{$/m.test(text)) return !text.endsWith('\n}')
  return text.endsWith('\\') || isQuoted(text)
}

/** Whether a quote is open at the end. */
function isQuoted(text: string): boolean {
  let quote = ''
  for (const sign of text.replaceAll(/\\./gs, '')) {
    if (quote === '' ? sign === '"' || sign === "'" : sign === quote) {
      quote = quote === '' ? sign : ''
    }
  }
  return quote !== ''
}

/** Code in sentences and tables that begins with a program and has further words, or is a script. */
export function commandsOfText(
  page: string,
  sections: readonly Section[] = sectionsOf(page),
): readonly PageCommand[] {
  return sections.flatMap(({ heading, text }) => {
    const outside = text.replaceAll(/^( *)```.*?^ *```$/gms, '')
    return [...outside.matchAll(/(?<!`)`([^`]+)`(?!`)/g)]
      .map(({ 0: code, 1: span = '', index }) => ({
        text: span.replaceAll(/\s+/g, ' ').replaceAll('\\|', '|'),
        isCell: outside.startsWith(`| ${code} |`, index - 2),
      }))
      .filter(({ text: span }) => PROGRAMS.includes(programOf(span)) && / |\//.test(span))
      .map((span) => ({ page, heading, ...span }))
  })
}

/** The first word that is a program; empty: the command is of the shell itself. */
export function programOf(command: string): string {
  if (OF_THE_SHELL.test(command)) return ''
  return (/^(?:! )?(\S+)/.exec(command)?.[1] ?? '').replace(/^(?:\S*\/)?bin\//, '')
}
