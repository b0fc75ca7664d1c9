import { createHash } from 'node:crypto'
import type { NpmPackage } from '../../packaging/bundle/packages.ts'
import type { NodeProgram } from '../../packaging/node-program.ts'
import type { DebianPackage } from './debian-packages.ts'

/** What a bill of materials names. */
interface Materials {
  readonly name: string
  readonly version: string
  /** ISO 8601. */
  readonly created: string
  readonly debian: readonly DebianPackage[]
  readonly npm: readonly NpmPackage[]
  /** As Debian and Node's program are for: amd64. */
  readonly architecture: string
  readonly node: NodeProgram
}

interface SpdxPackage {
  readonly SPDXID: string
  readonly name: string
  readonly versionInfo: string
  readonly [field: string]: unknown
}

const UNKNOWN = 'NOASSERTION'
const IMAGE = 'SPDXRef-image'

/** The bill of materials by SPDX 2.3: the Debian packages by dpkg, the npm packages by the lock file, and Node. */
export function sbomOf(materials: Materials): string {
  const { name, version, created } = materials
  const parts = [
    ...materials.debian.map(debianPart),
    nodePart(materials),
    ...materials.npm.map(npmPart),
  ]
  const whole: SpdxPackage = {
    SPDXID: IMAGE,
    name,
    versionInfo: version,
    downloadLocation: UNKNOWN,
    filesAnalyzed: false,
    licenseDeclared: 'Apache-2.0',
    licenseConcluded: UNKNOWN,
    primaryPackagePurpose: 'CONTAINER',
    comment: `for linux/${materials.architecture}`,
  }
  const content = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return `${JSON.stringify({
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${name}-${version}`,
    documentNamespace: `https://orch.io/spdx/${name}-${version}-${content}`,
    creationInfo: { created, creators: [`Tool: node-proxy-image-${version}`] },
    packages: [whole, ...parts],
    relationships: [
      relationOf('SPDXRef-DOCUMENT', 'DESCRIBES', IMAGE),
      ...parts.map(({ SPDXID }) => relationOf(IMAGE, 'CONTAINS', SPDXID)),
    ],
  })}\n`
}

function debianPart({ name, version, architecture, sha256 }: DebianPackage): SpdxPackage {
  return {
    SPDXID: idOf('deb', name),
    name,
    versionInfo: version,
    downloadLocation: UNKNOWN,
    filesAnalyzed: false,
    licenseDeclared: UNKNOWN,
    licenseConcluded: UNKNOWN,
    copyrightText: UNKNOWN,
    comment: `files of it; its licence is in /usr/share/doc/${name}/copyright.gz`,
    checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }],
    externalRefs: [
      purl(`pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`),
    ],
  }
}

function npmPart({ name, version, license, integrity }: NpmPackage): SpdxPackage {
  const [algorithm = '', digest = ''] = integrity.split('-', 2)
  const checksumValue = Buffer.from(digest, 'base64').toString('hex')
  return {
    SPDXID: idOf('npm', `${name}-${version}`),
    name,
    versionInfo: version,
    downloadLocation: UNKNOWN,
    filesAnalyzed: false,
    licenseDeclared: license,
    licenseConcluded: UNKNOWN,
    copyrightText: UNKNOWN,
    checksums: [{ algorithm: algorithm.toUpperCase(), checksumValue }],
    externalRefs: [purl(`pkg:npm/${name.replace('@', '%40')}@${version}`)],
  }
}

function nodePart({ architecture, node }: Materials): SpdxPackage {
  const { version, official, stripped } = node
  const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  return {
    SPDXID: idOf('generic', 'node'),
    name: 'node',
    versionInfo: version,
    downloadLocation: UNKNOWN,
    filesAnalyzed: false,
    licenseDeclared: 'MIT',
    licenseConcluded: UNKNOWN,
    copyrightText: UNKNOWN,
    comment: `the official program without its symbols: sha256 ${digest(stripped)}`,
    checksums: [{ algorithm: 'SHA256', checksumValue: digest(official) }],
    externalRefs: [purl(`pkg:generic/node@${version}?arch=${architecture}`)],
  }
}

function idOf(kind: string, name: string): string {
  return `SPDXRef-${kind}-${name.replace(/[^A-Za-z0-9.-]/g, '-')}`
}

function purl(referenceLocator: string) {
  return { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator }
}

function relationOf(spdxElementId: string, relationshipType: string, relatedSpdxElement: string) {
  return { spdxElementId, relationshipType, relatedSpdxElement }
}
