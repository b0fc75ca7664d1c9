import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { pack } from 'tar-stream'

export interface ImageContent {
  /** `name:tag` */
  readonly name: string
  /** Files, from the lowest layer up: each is a tar of a folder. */
  readonly layers: readonly string[]
  /** As image configurations write it: `Entrypoint`, `WorkingDir`, … */
  readonly config: Readonly<Record<string, unknown>>
}

/** Writes an image as one file in the form of `docker save`. */
export async function writeArchive(
  file: string,
  { name, layers, config }: ImageContent,
): Promise<void> {
  const digests = await Promise.all(layers.map(digestOf))
  const tar = pack()
  const written = pipeline(tar, createWriteStream(file))
  const rootfs = { type: 'layers', diff_ids: digests.map((digest) => `sha256:${digest}`) }
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  addText('config.json', JSON.stringify({ architecture, os: 'linux', config, rootfs }))
  for (const [index, layer] of layers.entries()) {
    const entry = tar.entry({ name: `${digests[index]}.tar`, size: statSync(layer).size })
    await pipeline(createReadStream(layer), entry)
  }
  const Layers = digests.map((digest) => `${digest}.tar`)
  addText('manifest.json', JSON.stringify([{ Config: 'config.json', RepoTags: [name], Layers }]))
  tar.finalize()
  await written

  function addText(path: string, text: string): void {
    tar.entry({ name: path }, text)
  }
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
