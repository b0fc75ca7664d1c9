import {
  type ContainerRuntimeClient,
  GenericContainer,
  getContainerRuntimeClient,
} from 'testcontainers'

/** How a container ended. */
export interface Ended {
  readonly status: number
  /** Standard output and error, in order. */
  readonly output: string
}

const TIMEOUT_MS = 60_000

/** A container under a name that the end of the run finds, with what testcontainers has no word for. */
export class TestContainer extends GenericContainer {
  readonly #name: string

  constructor(image: string, name: string) {
    super(image)
    this.#name = name
    this.withName(name)
  }

  /** Nothing of the image can be changed; /tmp is memory. */
  readOnly(): this {
    this.hostConfig.ReadonlyRootfs = true
    return this.withTmpFs({ '/tmp': 'rw,nosuid,nodev,noexec,mode=1777' })
  }

  /** May write /proc/sys, of its own namespaces; `--security-opt systempaths=unconfined` by hand. */
  unmasked(): this {
    this.hostConfig.MaskedPaths = []
    this.hostConfig.ReadonlyPaths = []
    return this
  }

  /** Lives in the network namespace of another container. */
  inside(other: { getId(): string }): this {
    return this.withNetworkMode(`container:${other.getId()}`)
  }

  /** Runs it until it ends, and removes it; kills it when that takes longer than `timeoutMs`. */
  async run(timeoutMs = TIMEOUT_MS): Promise<Ended> {
    const client = await getContainerRuntimeClient()
    const id = (await this.start()).getId()
    const container = client.container.getById(id)
    const alarm = setTimeout(() => void container.kill().catch(() => undefined), timeoutMs)
    try {
      const { StatusCode: status } = (await container.wait()) as { StatusCode: number }
      return { status, output: await outputOf(client, this.#name) }
    } finally {
      clearTimeout(alarm)
      await container.remove({ force: true, v: true })
    }
  }
}

/** What a container has said so far. */
export async function outputOf({ container }: ContainerRuntimeClient, id: string): Promise<string> {
  const log = await container.dockerode
    .getContainer(id)
    .logs({ stdout: true, stderr: true, follow: false })
  return textOf(log)
}

const HEADER = 8

/** Frames of a stream type, three zero bytes, a length and that many bytes; see the API's "attach". */
function textOf(frames: Buffer): string {
  const texts: Buffer[] = []
  for (let at = 0; at + HEADER <= frames.length; ) {
    const end = at + HEADER + frames.readUInt32BE(at + 4)
    texts.push(frames.subarray(at + HEADER, end))
    at = end
  }
  return Buffer.concat(texts).toString()
}
