import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { type OidcProvider, startOidcProvider } from '../identity/oidc-provider.ts'
import { type OrchServerProcess, startOrchServer } from '../orchserver/orch-server-process.ts'
import { blocksOf } from './page-section.ts'

const PAGE = 'security.md'
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const RESTART = 'systemctl restart orch-server'

/** By what a request says who sends it: the arguments of curl. */
export type Proof = readonly string[]

/** The page, whose commands run against a server of its own, in a data directory of its own. */
export interface SecurityPage extends AsyncDisposable {
  readonly server: OrchServerProcess
  readonly provider: OidcProvider
  /** All that the server wrote. */
  log(): string
  /** Runs the commands of one section, or one block of it, counted from 0; answers what they printed. */
  follow(heading: string, block?: number): Promise<string>
  /** Runs a command in the shell that the page prepares. @throws Error with what it wrote, unless it ends with 0 */
  sh(command: string): Promise<string>
  /** The status of `GET /api`, which every known user may read. */
  status(proof: Proof): Promise<number>
}

export function byToken(token: string): Proof {
  return ['-H', `Authorization: Bearer ${token}`]
}

/** The server has the settings that the page shows, the provider's address excepted, and those of its paths. */
export async function openSecurityPage(): Promise<SecurityPage> {
  const provider = await startOidcProvider()
  const folder = await mkdtemp(join(tmpdir(), 'np-security-'))
  const files = { etc: join(folder, 'etc'), log: join(folder, 'log') }
  for (const path of Object.values(files)) await mkdir(path)
  await writeFile(join(files.etc, 'provider.crt'), provider.authority)
  await writeFile(join(files.etc, 'tokens.csv'), 'a-token-of-yesterday,robot,robot-1,"dev"\n')
  const config = join(files.etc, 'config.yaml')
  await writeFile(config, shownSettings(provider.issuer))
  const written: Buffer[] = []
  const server = await startOrchServer({
    flags: [
      `--config=${config}`,
      `--oidc-ca-file=${join(files.etc, 'provider.crt')}`,
      `--token-auth-file=${join(files.etc, 'tokens.csv')}`,
      `--audit-policy-file=${join(ROOT, 'config/audit-policy.yaml')}`,
      `--audit-log-path=${join(files.log, 'audit.log')}`,
    ],
    onOutput: (bytes) => void written.push(bytes),
  })
  await writeFile(config, `${await readFile(config, 'utf8')}dataDir: ${server.dataDir}\n`)
  const here = (text: string): string =>
    text
      .replaceAll('/var/lib/orch-server', server.dataDir)
      .replaceAll('/etc/orch-server', files.etc)
      .replaceAll('/var/log/orch-server', files.log)
      .replaceAll('/opt/node-proxy', ROOT.replace(/\/$/, ''))
      .replaceAll('https://127.0.0.1:6443', server.url)
  const [prepare = ''] = blocksOf(PAGE, 'Prepare the shell', 'sh')
  const sh = (command: string): Promise<string> =>
    bash(here(`set -eo pipefail\n${prepare}\n${command}`), folder)
  const follow = async (heading: string, block?: number): Promise<string> => {
    const blocks = blocksOf(PAGE, heading, 'sh')
    const chosen = block === undefined ? blocks : [blocks[block]!]
    const [first = '', ...others] = chosen.join('').split(`${RESTART}\n`)
    let said = await sh(first)
    for (const part of others) {
      await server.stop()
      await server.start()
      said += await sh(part)
    }
    return said
  }
  return {
    ...{ server, provider, sh, follow },
    log: () => Buffer.concat(written).toString(),
    status: async (proof) => {
      const url = `${server.url}/api`
      const args = ['-sk', '-o', '/dev/null', '-w', '%{http_code}', ...proof, url]
      return Number(await run('curl', args, { cwd: server.dataDir }))
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

/** What the page shows in sections that do not exclude each other. */
function shownSettings(issuer: string): string {
  const shown = ['Give a person access', 'Let others verify tokens'].map(
    (heading) => parse(blocksOf(PAGE, heading, 'yaml')[0]!) as Shown,
  )
  const text = stringify({
    ...{ apiVersion: 'server.config.orch.io/v1alpha1', kind: 'OrchServerConfiguration' },
    serviceAccounts: Object.assign({}, ...shown.map((each) => each.serviceAccounts)),
    authentication: Object.assign({}, ...shown.map((each) => each.authentication)),
  })
  return text.replace('https://id.example.com', issuer)
}

interface Shown {
  readonly serviceAccounts?: object
  readonly authentication: object
}

function bash(script: string, home: string): Promise<string> {
  const env = { ...process.env, HOME: home }
  return run('bash', ['-c', script], { env })
}

function run(
  program: string,
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (failure, out, err) =>
      failure === null ? resolve(out) : reject(new Error(`${out}${err}`, { cause: failure })),
    )
    child.stdin?.end()
  })
}
