import { spawn, spawnSync } from 'node:child_process'
import { createReadStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { type ContainerRuntimeClient, ImageName } from 'testcontainers'
import { root } from '../../support/on-demand/root.ts'
import { step } from '../../support/on-demand/step.ts'
import { type DebianBase, debianBase, isFresh, makeArchive } from './debian-base.ts'
import { DOCKERFILES } from './dockerfiles.ts'

/** What an engine without a registry cannot pull. */
const REGISTRY_BASE = 'debian:bookworm-slim'
const KERNEL_TEST = 'node-proxy-kernel-test:test'
const TAG = 'test'
const BUILD_MS = 10 * 60_000

type Engine = ContainerRuntimeClient['container']['dockerode']

/** Names of the images that the tests start containers of. */
export interface Images {
  /** The daemon, as it is installed on clusters. */
  readonly daemon: string
  /** The control plane. */
  readonly server: string
  /** The checkout with what the kernel tests need. */
  readonly kernelTest: string
}

/** Builds all from this checkout. `archives`: a folder for those that clusters run. */
export async function buildImages(
  client: ContainerRuntimeClient,
  archives: string,
): Promise<Images> {
  const engine = client.container.dockerode
  await step('docker', 'building the images of node-proxy and orch-server', () =>
    writeArchives(archives),
  )
  for (const name of ['node-proxy', 'orch-server']) {
    const archive = createReadStream(join(archives, `${name}.tar`))
    await followed(engine, await engine.loadImage(archive))
  }
  const dockerfile = DOCKERFILES.kernelTest
  const base = await chooseBase(client, debianBase(dockerfile))
  await step('docker', `building ${KERNEL_TEST} on ${base}`, () =>
    build(engine, { t: KERNEL_TEST, dockerfile, buildargs: { BASE: base } }),
  )
  return {
    daemon: `node-proxy:${TAG}`,
    server: `orch-server:${TAG}`,
    kernelTest: KERNEL_TEST,
  }
}

/** As `npm run image` does. */
export async function writeArchives(folder: string): Promise<void> {
  const command = [join(root, 'docker/image/main.ts'), '--output', folder, '--tag', TAG]
  await execa(process.execPath, command, { cwd: root, timeout: BUILD_MS, stdin: 'ignore' })
}

/** One that is here, one from the registry, or one that is made here; in this order. */
async function chooseBase(client: ContainerRuntimeClient, base: DebianBase): Promise<string> {
  if (await client.image.exists(ImageName.fromString(base.image))) return base.image
  if (!isFresh(base)) {
    const refusal = await pull(client)
    if (refusal === undefined) return REGISTRY_BASE
    if (process.getuid?.() !== 0 || spawnSync('debootstrap', ['--version']).error) {
      throw new Error(`${REGISTRY_BASE} cannot be pulled (${refusal}), and making a Debian here
needs root and debootstrap: apt-get install debootstrap`)
    }
    await makeArchive(base)
  }
  const [repo, tag] = base.image.split(':')
  const engine = client.container.dockerode
  await followed(engine, await engine.importImage(createReadStream(base.archive), { repo, tag }))
  return base.image
}

async function pull(client: ContainerRuntimeClient): Promise<string | undefined> {
  try {
    await step('docker', `pulling ${REGISTRY_BASE}`, () =>
      client.image.pull(ImageName.fromString(REGISTRY_BASE)),
    )
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The checkout may be in use: files that change or go while they are packed are no failure. */
async function build(engine: Engine, options: Parameters<Engine['buildImage']>[1]): Promise<void> {
  const pack = spawn(
    'tar',
    [
      '-C',
      root,
      '--anchored',
      '--no-wildcards-match-slash',
      '--exclude-from=.dockerignore',
      '--ignore-failed-read',
      '--warning=no-file-changed',
      '--warning=no-file-removed',
      '-cf',
      '-',
      ...readdirSync(root),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], cwd: root },
  )
  try {
    await followed(engine, await engine.buildImage(pack.stdout, { ...options, forcerm: true }))
  } finally {
    pack.kill()
  }
}

/** Until the engine is done; rejects with what it said last when it failed. */
async function followed(engine: Engine, stream: NodeJS.ReadableStream): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const said: string[] = []
  engine.modem.followProgress(
    stream,
    (error: Error | null) => {
      if (error === null) resolve()
      else reject(new Error(`${error.message}\n${said.slice(-30).join('')}`))
    },
    ({ stream: words }: { stream?: string }) => {
      if (words !== undefined) said.push(words)
    },
  )
  await promise
}
