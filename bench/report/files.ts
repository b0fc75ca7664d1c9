import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ApiserverResults } from './apiserver/results.ts'
import type { AuthResults } from './auth/results.ts'
import type { BrowserResults } from './browser/results.ts'
import type { ClusterPageResults } from './cluster-page/results.ts'
import type { DnsResults } from './dns/results.ts'
import type { InspectionResults } from './inspection/results.ts'
import type { IpvsResults } from './ipvs/results.ts'
import type { MasqueradeResults } from './masquerade/results.ts'
import type { NftablesResults } from './nftables/results.ts'
import { resultsPage } from './page.ts'
import type { Results } from './results.ts'
import { resultsText } from './results-text.ts'
import type { UserspaceResults } from './userspace/results.ts'

const IPTABLES = 'results/latest.json'
const IPVS = 'results/ipvs.json'
const NFTABLES = 'results/nftables.json'
const USERSPACE = 'results/userspace.json'
const APISERVER = 'results/apiserver.json'
const AUTH = 'results/auth.json'
const DNS = 'results/dns.json'
const INSPECTION = 'results/inspection.json'
const PAGE = 'results/page.json'
const CLUSTER_PAGE = 'results/cluster-page.json'
const MASQUERADE = 'results/masquerade.json'

export function readResults(into: string): Results | undefined {
  return read(join(into, IPTABLES)) as Results | undefined
}

export function readIpvsResults(into: string): IpvsResults | undefined {
  return read(join(into, IPVS)) as IpvsResults | undefined
}

export function readNftablesResults(into: string): NftablesResults | undefined {
  return read(join(into, NFTABLES)) as NftablesResults | undefined
}

function readUserspaceResults(into: string): UserspaceResults | undefined {
  return read(join(into, USERSPACE)) as UserspaceResults | undefined
}

function readApiserverResults(into: string): ApiserverResults | undefined {
  return read(join(into, APISERVER)) as ApiserverResults | undefined
}

function readAuthResults(into: string): AuthResults | undefined {
  return read(join(into, AUTH)) as AuthResults | undefined
}

function readDnsResults(into: string): DnsResults | undefined {
  return read(join(into, DNS)) as DnsResults | undefined
}

function readInspectionResults(into: string): InspectionResults | undefined {
  return read(join(into, INSPECTION)) as InspectionResults | undefined
}

function readBrowserResults(into: string): BrowserResults | undefined {
  return read(join(into, PAGE)) as BrowserResults | undefined
}

function readClusterPageResults(into: string): ClusterPageResults | undefined {
  return read(join(into, CLUSTER_PAGE)) as ClusterPageResults | undefined
}

export function readMasqueradeResults(into: string): MasqueradeResults | undefined {
  return read(join(into, MASQUERADE)) as MasqueradeResults | undefined
}

export function saveResults(into: string, results: Results): void {
  save(into, IPTABLES, resultsText(results))
}

export function saveIpvsResults(into: string, results: IpvsResults): void {
  save(into, IPVS, resultsText(results))
}

export function saveNftablesResults(into: string, results: NftablesResults): void {
  save(into, NFTABLES, resultsText(results))
}

export function saveUserspaceResults(into: string, results: UserspaceResults): void {
  save(into, USERSPACE, resultsText(results))
}

export function saveApiserverResults(into: string, results: ApiserverResults): void {
  save(into, APISERVER, resultsText(results))
}

export function saveAuthResults(into: string, results: AuthResults): void {
  save(into, AUTH, resultsText(results))
}

export function saveDnsResults(into: string, results: DnsResults): void {
  save(into, DNS, resultsText(results))
}

export function saveInspectionResults(into: string, results: InspectionResults): void {
  save(into, INSPECTION, resultsText(results))
}

export function saveBrowserResults(into: string, results: BrowserResults): void {
  save(into, PAGE, resultsText(results))
}

export function saveClusterPageResults(into: string, results: ClusterPageResults): void {
  save(into, CLUSTER_PAGE, resultsText(results))
}

export function saveMasqueradeResults(into: string, results: MasqueradeResults): void {
  save(into, MASQUERADE, resultsText(results))
}

/** Saves a result file, and makes the page from all files. */
function save(into: string, name: string, text: string): void {
  mkdirSync(dirname(join(into, name)), { recursive: true })
  writeFileSync(join(into, name), text)
  const page = resultsPage({
    iptables: readResults(into),
    ipvs: readIpvsResults(into),
    nftables: readNftablesResults(into),
    userspace: readUserspaceResults(into),
    apiserver: readApiserverResults(into),
    auth: readAuthResults(into),
    dns: readDnsResults(into),
    inspection: readInspectionResults(into),
    browser: readBrowserResults(into),
    clusterPage: readClusterPageResults(into),
    masquerade: readMasqueradeResults(into),
  })
  writeFileSync(join(into, 'RESULTS.md'), page)
}

function read(file: string): unknown {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}
