// The options turn off every feature that sends requests to another server: fonts,
// telemetry, the agent, the hosted client and the proxy.
Scalar.createApiReference('#reference', {
  url: '/v1/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: true,
  authentication: { preferredSecurityScheme: 'bearer' },
})
