/**
 * What doctor found and mended, as plain text.
 *
 * Role: pure; see `render.ts`. The store words its findings in English; another
 * language has sentences by code, and what it does not know stays English.
 */
import { basename } from 'node:path'
import type { DoctorOutcome, FindingItem } from './outcome.ts'
import type { RenderOptions } from './render.ts'
import type { Texts } from './texts-en.ts'
import { visibleLine } from './visible.ts'

function nameOf({ code, fileName, path }: FindingItem): string {
  return visibleLine(fileName ?? (code === 'two-directories' ? path : basename(path)))
}

function messageOf(finding: FindingItem, texts: Texts): string {
  const known = texts.findingMessages[finding.code]
  return known === undefined ? visibleLine(finding.message) : known(nameOf(finding))
}

function repairOf(finding: FindingItem, texts: Texts): string | undefined {
  if (finding.repair === null) return undefined
  const known = texts.findingRepairs[finding.code]
  return known === undefined ? visibleLine(finding.repair) : known(nameOf(finding))
}

function findingLines(finding: FindingItem, texts: Texts): string[] {
  const repair = repairOf(finding, texts)
  return [
    `- ${messageOf(finding, texts)}`,
    `    ${repair === undefined ? texts.noRepair : texts.willDo(repair)}`,
  ]
}

/**
 * What the repair is about to do, to be told before it is done.
 * @returns the findings and the plan.
 */
export function renderPlan(findings: readonly FindingItem[], { texts }: RenderOptions): string {
  const steps = findings.flatMap((finding) => repairOf(finding, texts) ?? [])
  if (steps.length === 0) return texts.nothingToMend
  return [texts.plan, ...steps.map((step) => `- ${step}`)].join('\n')
}

function renderRepaired(outcome: DoctorOutcome, options: RenderOptions): string {
  const { texts } = options
  const { remaining, repaired } = outcome
  const lines = [texts.mended(repaired?.length ?? 0)]
  if (remaining.length > 0) {
    lines.push(texts.remaining(remaining.length))
    for (const finding of remaining) lines.push(...findingLines(finding, texts))
  }
  return lines.join('\n')
}

/** Findings with what would mend them; after a repair what was mended and what is left. */
export function renderDoctor(outcome: DoctorOutcome, options: RenderOptions): string {
  const { command, texts } = options
  const { findings, repaired } = outcome
  const directory = visibleLine(outcome.directory)
  if (findings.length === 0) return texts.healthy(directory)
  if (repaired !== null) return renderRepaired(outcome, options)
  const lines = [texts.findings(findings.length, directory)]
  for (const finding of findings) lines.push(...findingLines(finding, texts))
  if (findings.some(({ repair }) => repair !== null)) lines.push(texts.fixHint(command))
  return lines.join('\n')
}
