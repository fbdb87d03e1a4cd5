/**
 * Written by pkg/tools/redactor/rules.mjs from rules of gitleaks and those in the script. gitleaks:
 * MIT License
 *
 * Copyright (c) 2019 Zachary Rice
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 */

/** Sets of ASCII characters, as pairs: from, to. */
export const CLASSES: readonly string[] = [
  "--09==AZ__az~~",
  "09AZaz",
  "++/9AZaz",
  "\t\r  ",
  "++-9==AZ__az",
  "09af",
  "09",
  "++--/9==AZ__az~~",
  "--09AZ__az",
  "  ",
  "++-9==AZ__az~~",
  "\"\"''",
  "-.09AZ__az",
  "&&??",
  "%%++/9AZaz",
  "09AFaf",
  "abyy",
  ".9AZaz",
  "1156",
  "$$.9==AZaz",
  "az",
  "$$+,/9==AZ__az",
  "\t\r  ++/9==AZaz",
  "AACC",
  "%%==",
  "\u0000\b\u000e\u001f!!$&(.09;;==AZ\\",
  "\u0000\b\u000e\u001f!!$&(.0;==A",
  "\t\r  ==",
  "\u0000\b\u000e\u001f!!#%)9=Z]z}",
  "\u0000\b\u000e\u001f!!#%(:<[]{}",
  "\"\"''\\\\",
  "\u0000\t\u000b\f\u000e!#&)9;;=Z]z|",
  "\u0000\t\u000b\f\u000e!#&([]",
  "--09==AZ__az",
  "09AZ",
  "--09AZ",
  "0029AACHJNPZ",
  "--__",
  "--09AZaz",
  "==",
  "..09AZ__az~~",
  "-.09AZ__az~~",
  "CCMM",
  "09AHah",
  "aarr",
  "09az",
  "AZaz",
  "aa",
  "++--/9AZ\\\\__az",
  "--/9@Zaz",
  "-.09==AZ__az",
]

/** Rules: anchors, what follows, what stands before, flags, entropy (see `tables.ts`). */
export const RULES: readonly string[] = [
  // openai-key
  "sk-`0.20+``m`3.2",
  // fireworks-key
  "fw_`1.20+``m",
  // huggingface-key
  "hf_`1.30+``m",
  // azure-storage-key
  "accountkey=`( 2.86 === )``ifc",
  // npm-auth-token
  "_authtoken`3.0-1 == 3.0-1 ( 4.10+ )``ifm`2",
  // mailchimp-key
  "-us`6.1-2`5.32`ce`2",
  // telegram-token
  ":AA`0.33+`6.8-10`f",
  // grafana-cloud
  "glc_`7.32+",
  // discord-token
  "M|N|O`8.23-25 =. 8.6 =. 8.27-38``ce`3.5",
  // bearer
  "bearer`9.1-3 ( a.14+ )``im",
  // basic
  "authorization`b.0-1 =: 9.0-3 b.0-1 ~basic =  ( 7.8+ )``i`2",
  // docker-auth
  "\"auth\"`3.0-1 =: 3.0-1 =\" ( 7.8+ )``fm`2.5",
  // jwt-of-any
  "eyJ`8.10+ =. c.10+",
  // sas-signature
  "sig=`( e.43+ )`d.1`if",
  // aws-signature
  "x-amz-signature=`( f.64 )`d.1`ifc",
  // discord-webhook
  "com/api/webhooks/`( 6.16-20 =/ 0.60+ )``f",
  // password-hash
  "$2`g.1 =$ 6.2 =$ h.53``ifc",
  // password-hash-of-any
  "$`i.1 =$ j.30+``if",
  // argon-hash
  "$argon2`k.1-2 =$ l.40+``f",
  // pem-in-base64
  "LS0tLS1CRUdJTiBSU0|LS0tLS1CRUdJTiBQUk|LS0tLS1CRUdJTiBFQy|LS0tLS1CRUdJTiBPUE|LS0tLS1CRUdJTiBFTk|LS0tLS1CRUdJTiBQR1AgUF|LS0tLS1CRUdJTiBEU0`7.20+",
  // putty-key
  "private-lines: `6.1-3 3.1-3 ( m.40+ )``if",
  // google-refresh-token
  "1//0`0.30+``i",
  // dropbox-token
  "sl.`0.100+",
  // bitbucket-password
  "ATBB`0.24+",
  // atlassian-token
  "AT`n.1 =TT3xFf 8.20+ o.0-1 8.0+``c",
  // mailgun-key
  "key-`5.32",
  // url-password
  "://`p.0-128 =: ( q.1-128 ) =@``ifcu`0",
  // curl-user
  "-u|--user|--proxy-user`r.0-5 ( s.1-128 =: t.0-128 )`3.1`fck`0",
  // curl-user
  "-u|--user|--proxy-user`r.0-5 u.1+ ( v.1-128 =: w.0-128 )`3.1`fck`0",
  // fo1_…, tk-us-…, nvapi-…, tgp_v1_…, llx-…, lsv2_pt_…, lsv2_sk_…, tvly-…, AIza…, ya29.…, GOCSPX-…, bedrock-api-key-…, ghp_…, gho_…, ghu_…, ghs_…, ghr_…, github_pat_…, glpat-…, glrt-…, glptt-…, gldt-…, glft-…, glffct-…, glsoat-…, glimt-…, glagent-…, glcbt-…, gloas-…, glwt-…, glrtr-…, GR1348941…, _gitlab_session=…, BBDC-…, sq0csp-…, sq0idp-…, sq0atp-…, sk_live_…, sk_test_…, sk_prod_…, rk_live_…, rk_test_…, rk_prod_…, whsec_…, rzp_live_…, rzp_test_…, FLWSECK_TEST-…, FLWPUBK_TEST-…, shpat_…, shpca_…, shppa_…, shpss_…, shptka_…, shippo_live_…, shippo_test_…, duffel_live_…, duffel_test_…, xoxa-…, xoxb-…, xoxe-…, xoxe.…, xoxo-…, xoxp-…, xoxr-…, xoxs-…, pypi-AgEIcHlwaS5vcmc…, rubygems_…, dckr_pat_…, dckr_oat_…, SWMTKN-1-…, dop_v1_…, doo_v1_…, dor_v1_…, cfat_…, cfut_…, HRKU-…, hvs.…, hvb.…, hvr.…, dp.pt.…, dp.ct.…, dp.st.…, dp.sa.…, tskey-…, sbp_v0_…, sb_secret_…, pscale_pw_…, pcsk_…, dt0c01.…, NRAK-…, NRII-…, NRJS-…, phx_…, phs_…, pha_…, phr_…, glsa_…, sntryu_…, CCIPAT_…, PMAK-…, PMAT-…, lin_api_…, ntn_…, figd_…, CFPAT-…, xkeysib-…, xsmtpsib-…, apify_api_…, dnkey-…, fio-u-…, sha256~…, s-s4t2ud-…, s-s4t2af-…, sm_aat_…, sm_pat_…, sm_sat_…, django-insecure-…
  "fo1_|tk-us-|nvapi-|tgp_v1_|llx-|lsv2_pt_|lsv2_sk_|tvly-|AIza|ya29.|GOCSPX-|bedrock-api-key-|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|glrt-|glptt-|gldt-|glft-|glffct-|glsoat-|glimt-|glagent-|glcbt-|gloas-|glwt-|glrtr-|GR1348941|_gitlab_session=|BBDC-|sq0csp-|sq0idp-|sq0atp-|sk_live_|sk_test_|sk_prod_|rk_live_|rk_test_|rk_prod_|whsec_|rzp_live_|rzp_test_|FLWSECK_TEST-|FLWPUBK_TEST-|shpat_|shpca_|shppa_|shpss_|shptka_|shippo_live_|shippo_test_|duffel_live_|duffel_test_|xoxa-|xoxb-|xoxe-|xoxe.|xoxo-|xoxp-|xoxr-|xoxs-|pypi-AgEIcHlwaS5vcmc|rubygems_|dckr_pat_|dckr_oat_|SWMTKN-1-|dop_v1_|doo_v1_|dor_v1_|cfat_|cfut_|HRKU-|hvs.|hvb.|hvr.|dp.pt.|dp.ct.|dp.st.|dp.sa.|tskey-|sbp_v0_|sb_secret_|pscale_pw_|pcsk_|dt0c01.|NRAK-|NRII-|NRJS-|phx_|phs_|pha_|phr_|glsa_|sntryu_|CCIPAT_|PMAK-|PMAT-|lin_api_|ntn_|figd_|CFPAT-|xkeysib-|xsmtpsib-|apify_api_|dnkey-|fio-u-|sha256~|s-s4t2ud-|s-s4t2af-|sm_aat_|sm_pat_|sm_sat_|django-insecure-`x.10 0.0+``m`2.5",
  // xai-…, csk-…, pul-…, ico-…, rnd_…, e2b_…, r8_…, tfp_…, aio_…, dapi…, sgp_…, cfk_…, pnu_…, rpa_…, da2-…, squ_…, sqp_…, sqa_…, jina_…, sbp_…, EZAK…, EZTK…, api_org_…, bkua_…, nfp_…, gsk_…, rdme_…, vcp_…, vci_…, vca_…, vcr_…, vck_…
  "xai-|csk-|pul-|ico-|rnd_|e2b_|r8_|tfp_|aio_|dapi|sgp_|cfk_|pnu_|rpa_|da2-|squ_|sqp_|sqa_|jina_|sbp_|EZAK|EZTK|api_org_|bkua_|nfp_|gsk_|rdme_|vcp_|vci_|vca_|vcr_|vck_`1.10 0.0+``m`2.5",
  // 1password-secret-key
  "A3-`y.6 =- y.6 z.23-24``ce`3.8",
  // 1password-service-account-token
  "ops_eyJ`7.250+```4",
  // adobe-client-secret
  "p8e-`1.32```2",
  // age-secret-key
  "AGE-SECRET-KEY-1`10.58``f`0",
  // airtable-personnal-access-token
  "pat`1.14 =. 5.64``ce`0",
  // alibaba-access-key-id
  "LTAI`1.20```2",
  // artifactory-api-key
  "AKCp`1.69```4.5",
  // artifactory-reference-token
  "cmVmd`1.59```4.5",
  // authress-service-client-access-key
  "sc_|ext_|scauth_|authress_`1.5-30 =. 1.4-6 =.acc 11.1 12.10-32 =. 7.30+```2",
  // aws-access-token
  "A3T`y.1 y.16``ce",
  // aws-access-token
  "AKIA|ASIA|ABIA|ACCA`y.16",
  // aws-amazon-bedrock-api-key-long-lived
  "ABSK`2.109-269 13.0-2``c",
  // azure-ad-client-secret
  "Q~`15.31-34`14.3 6.1`fc",
  // clickhouse-cloud-api-secret-key
  "4b1d`1.38",
  // clojars-api-token
  "clojars_`1.60``if`2",
  // cloudflare-origin-ca-key
  "v1.0-`5.24 =- 5.146```2",
  // facebook-page-access-token
  "EAA`16.1 1.100+```4",
  // flyio-access-token
  "fm1`18.1 =_ 2.100+ 13.0-3``ce`4",
  // flyio-access-token
  "fm2_`2.100+ 13.0-3``c`4",
  // grafana-api-key
  "eyjrijoi`1.70-400 13.0-3``ic",
  // harness-api-key
  "pat.|sat.`8.22 =. 1.24 =. 1.20``f`0",
  // hashicorp-tf-api-token
  ".atlasv1.`x.60-70`1.14`fc`3.5",
  // jwt-base64
  "ZXlK`1b.0-1 1c.60+ 13.0-2``c`2",
  // maxmind-license-key
  "_mmk``1.6 =_ 1.29`ce`4",
  // microsoft-teams-webhook
  ".webhook.office.com/webhookb2/`1d.80+``f`0",
  // npm-access-token
  "npm_`1.36``i`2",
  // octopus-deploy-api-key
  "API-`y.26",
  // perplexity-api-key
  "pplx-`1.48```4",
  // planetscale-api-token, planetscale-oauth-token
  "pscale_tkn_|pscale_oauth_`1e.32-64",
  // planetscale-password
  "pscale_pw_`1e.32-64``i",
  // sendgrid-api-token
  "SG.`1e.66``ce`2",
  // sentry-org-token
  "sntrys_eyJpYXQiO`7.60+```4.5",
  // slack-app-token
  "xapp-`6.1 =- 1.1+ =- 6.1+ =- 1.1+``if`2",
  // slack-webhook-url
  "hooks.slack.com/services/|hooks.slack.com/workflows/|hooks.slack.com/triggers/`7.20+``f`0",
  // square-access-token
  "EAAA`0.22-60```2",
  // twilio-api-key
  "SK|AC`f.32``ce",
  // vault-service-token
  "s.`1.24``ce`3.5",
]

/** Services whose keys are known by their name alone. */
export const SERVICES = "algolia asana bitbucket cloudflare confluent contribsys__com discord facebook heroku hubspot jira kraken kucoin linear mailchimp mailgun meraki messagebird message-bird message_bird okta sendbird sentry snyk sonar squarespace telegram twitter"
