DROP TABLE tax_form_statuses;
