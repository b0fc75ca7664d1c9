import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { stringify } from 'yaml'
import { newestKubectl, SHORT_LIVED } from '../kubectl/installed.ts'
import { type OrchServerProcess, startOrchServer } from '../orchserver/orch-server-process.ts'
import { programsFolder } from '../programs.ts'
import { blocksOf } from './page-section.ts'

/** Commands that only root may run, which the test replaces. */
const SYSTEMCTL = /^systemctl (restart|stop|start) orch-server\n/m

/** What authenticates a request: a token, or a certificate, in files whose paths may begin at the data directory. */
export interface Proof {
  readonly token?: string
  readonly certificate?: { readonly cert: string; readonly key: string }
}

export function byToken(token: string): Proof {
  return { token }
}

export function byCertificate(cert: string, key: string): Proof {
  return { certificate: { cert, key } }
}

export interface PageOptions {
  /** The name of the page in `docs/operate`. */
  readonly page: 'security.md' | 'encryption.md' | 'load-balancers.md'
  /** The content of `config.yaml`; paths begin with `/etc/orch-server`. */
  readonly settings?: object
  /** The section whose commands create files before the server starts. */
  readonly prepare?: string
  /** Texts of the files in `/etc/orch-server`. */
  readonly files?: Readonly<Record<string, string>>
}

/** A page of `docs/operate`, whose commands run against a server of its own, in folders of its own. */
export interface OperatedPage extends AsyncDisposable {
  readonly server: OrchServerProcess
  /** The folder that is used instead of `/etc/orch-server`. */
  readonly etc: string
  /** All that the server wrote. */
  log(): string
  /** Runs the commands of one section, or of one of its blocks, counted from 0. @returns what they printed */
  follow(heading: string, block?: number): Promise<string>
  /** Runs a command in the shell that the page prepares. @throws Error with its output unless it ends with 0 */
  sh(command: string): Promise<string>
  /** The status of `GET /api`, which every known user may read. */
  status(proof: Proof): Promise<number>
  /** Writes a file of the operator, in `/etc/orch-server`. */
  write(name: string, text: string): Promise<void>
}

/** Starts a server with the settings of the page, and with paths in folders of its own. */
export async function operatePage(options: PageOptions): Promise<OperatedPage> {
  const { page, settings = {}, files = {} } = options
  const folder = await mkdtemp(join(tmpdir(), 'np-page-'))
  const [etc, logs] = [join(folder, 'etc'), join(folder, 'log')]
  for (const path of [etc, logs, join(folder, 'bin')]) await mkdir(path)
  // The one of the PATH may be a wrapper that first requests from the server which kubectl it shall start.
  await symlink(newestKubectl(), join(folder, 'bin/kubectl'))
  const write = (name: string, text: string): Promise<void> =>
    writeFile(join(etc, name), text, { mode: 0o600 })
  for (const [name, text] of Object.entries(files)) await write(name, text)
  const inFolders = (text: string): string =>
    text
      .replaceAll('/etc/orch-server', etc)
      .replaceAll('/var/log/orch-server', logs)
      .replaceAll('/opt/node-proxy', programsFolder())
  const kind = { apiVersion: 'server.config.orch.io/v1alpha1', kind: 'OrchServerConfiguration' }
  await write('config.yaml', inFolders(stringify({ ...kind, ...settings })))
  if (options.prepare !== undefined) {
    const made = blocksOf(page, options.prepare, 'sh').join('')
    await bash(inFolders(`set -e; umask 077\n${made}`), folder)
  }
  const config = join(etc, 'config.yaml')
  const written: Buffer[] = []
  const server = await startOrchServer({
    flags: [`--config=${config}`],
    onOutput: (bytes) => void written.push(bytes),
  })
  await writeFile(config, `${await readFile(config, 'utf8')}dataDir: ${server.dataDir}\n`)
  const here = (text: string): string =>
    inFolders(text)
      .replaceAll('/var/lib/orch-server', server.dataDir)
      .replaceAll('127.0.0.1:6443', new URL(server.url).host)
  const [prepare = ''] = blocksOf('security.md', 'Prepare the shell', 'sh')
  const sh = (command: string): Promise<string> =>
    bash(here(`set -eo pipefail\n${prepare}\n${command}`), folder)
  const follow = async (heading: string, block?: number): Promise<string> => {
    const blocks = blocksOf(page, heading, 'sh')
    if (block !== undefined && blocks[block] === undefined) {
      throw new Error(`${page} has no block ${block} under “${heading}”`)
    }
    const chosen = block === undefined ? blocks : [blocks[block]!]
    const [first = '', ...rest] = chosen.join('').split(SYSTEMCTL)
    let said = await sh(first)
    for (const [index, part] of rest.entries()) {
      if (index % 2 === 1) said += await sh(part)
      else {
        if (part !== 'start') await server.stop()
        if (part !== 'stop') await server.start()
      }
    }
    return said
  }
  return {
    server,
    etc,
    sh,
    follow,
    write,
    log: () => Buffer.concat(written).toString(),
    status: (proof) => statusOf(server, proof),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

/** On a connection of its own, because a server knows a certificate since its connection was made. */
async function statusOf({ url, dataDir }: OrchServerProcess, proof: Proof): Promise<number> {
  const read = (path: string): Promise<Buffer> => readFile(resolve(dataDir, path))
  const { token, certificate } = proof
  const { promise, resolve: answered, reject } = Promise.withResolvers<number>()
  const options = {
    agent: false,
    rejectUnauthorized: false,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(certificate && { cert: await read(certificate.cert), key: await read(certificate.key) }),
  }
  const sent = get(`${url}/api`, options, (response) => {
    response.resume()
    answered(response.statusCode ?? 0)
  })
  sent.on('error', reject)
  return promise
}

function bash(script: string, home: string): Promise<string> {
  const path = `${join(home, 'bin')}${delimiter}${process.env['PATH']}`
  const env = { ...process.env, ...SHORT_LIVED, HOME: home, PATH: path }
  const { promise, resolve: printed, reject } = Promise.withResolvers<string>()
  const child = execFile('bash', ['-c', script], { env }, (failure, out, err) =>
    failure === null ? printed(out) : reject(new Error(`${out}${err}`, { cause: failure })),
  )
  child.stdin?.end()
  return promise
}
